import type { Context, Timers } from "../protocol/ports.ts";
import type { Service } from "./route.ts";

export function createService(ctx: Context, log: Service["log"], timers: Timers): Service {
  return { ctx, log, version, timers };
}

/** Read only when asked, because a function's start is billed. */
async function version(): Promise<string> {
  const manifest = await import("../../package.json", { with: { type: "json" } });
  return manifest.default.version;
}
