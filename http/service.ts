import { setTimeout as sleep } from "node:timers/promises";
import packageJson from "../package.json" with { type: "json" };
import type { Context } from "../protocol/ports.ts";
import type { Service } from "./route.ts";

/** What the routes need, on the wall clock. */
export function createService(ctx: Context, log: Service["log"]): Service {
  return { ctx, log, version: packageJson.version, wait: (ms) => sleep(ms) };
}
