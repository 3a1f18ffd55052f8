import type { Context as LambdaContext } from "aws-lambda";
import { tick } from "../protocol/tick.ts";
import { createContext } from "../sdk/context.ts";
import { createEventSources } from "../sdk/event-sources.ts";

/** ms that what is begun last, and the telemetry, have before Lambda ends the function: a call that hangs takes 15 s. */
const MARGIN = 20_000;

const ctx = { ...createContext(), eventSources: createEventSources() };

/** The minute's sweep, audit and DLQ pass. What failed is thrown, so that Lambda counts an error. */
export async function handler(_event: unknown, { getRemainingTimeInMillis }: LambdaContext): Promise<void> {
  try {
    await tick(ctx, ctx.clock() + getRemainingTimeInMillis() - MARGIN);
  } finally {
    ctx.telemetry.flush();
  }
}
