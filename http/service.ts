import packageJson from "../package.json" with { type: "json" };
import type { Context } from "../protocol/ports.ts";
import type { Service } from "./route.ts";
import { TIMERS } from "./timers.ts";

/** Makes the service that the handlers of routes use. Its timers run on the wall clock. */
export function createService(ctx: Context, log: Service["log"]): Service {
  return { ctx, log, version: packageJson.version, timers: TIMERS };
}
