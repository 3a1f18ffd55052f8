import type { Context as LambdaContext } from "aws-lambda";
import { createContext } from "../environment/context.ts";
import { createEventSources } from "../environment/event-sources.ts";
import { tick } from "../protocol/hand-over/tick.ts";

/** How long before Lambda's timeout the tick stops beginning new work, ms. A call that hangs takes 15 s, and then telemetry is written. */
const MARGIN = 20_000;

const ctx = { ...createContext(), eventSources: createEventSources() };

/**
 * Runs once each minute: sweeps and audits, releases parked jobs, and deletes letters of jobs that are no longer dead. An error is thrown,
 * so that Lambda counts it.
 */
export async function handler(_event: unknown, { getRemainingTimeInMillis }: LambdaContext): Promise<void> {
  try {
    await tick(ctx, ctx.clock() + getRemainingTimeInMillis() - MARGIN);
  } finally {
    ctx.telemetry.flush();
  }
}
