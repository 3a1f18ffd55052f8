import type { Context as LambdaContext } from "aws-lambda";
import { createContext } from "../environment/context.ts";
import { createEventSources } from "../environment/event-sources.ts";
import { tick } from "../protocol/hand-over/tick.ts";

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
