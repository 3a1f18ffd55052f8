import type { Context } from "../protocol/ports.ts";
import type { Service } from "./route.ts";
import { TIMERS } from "./timers.ts";

/** Makes the service that the handlers of routes use. Its timers run on the wall clock. */
export function createService(ctx: Context, log: Service["log"]): Service {
  return { ctx, log, version, timers: TIMERS };
}

/** Reads the manifest only for a call that answers the version, because a function's start is billed. */
async function version(): Promise<string> {
  const manifest = await import("../package.json", { with: { type: "json" } });
  return manifest.default.version;
}
