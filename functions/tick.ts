import type { Context as LambdaContext } from "aws-lambda";
import { tickPartIn } from "../core/tick-part.ts";
import { createContext } from "../environment/context.ts";
import { createEventSources } from "../environment/event-sources.ts";
import { createSweepers } from "../environment/sweepers.ts";
import { sweepPart, tick } from "../protocol/hand-over/tick.ts";

/** Before Lambda's timeout the tick stops beginning new work, ms. A call that hangs takes 15 s, and then telemetry is written. */
const MARGIN = 20_000;

const ctx = { ...createContext(), eventSources: createEventSources(), sweepers: createSweepers() };

/** Once each minute. A tick with a backlog invokes this function again, with a part of its work. */
export async function handler(event: unknown, { getRemainingTimeInMillis }: LambdaContext): Promise<void> {
  const until = ctx.clock() + getRemainingTimeInMillis() - MARGIN;
  try {
    const part = tickPartIn(event);
    await (part ? sweepPart(ctx, part, Math.min(part.until, until)) : tick(ctx, until));
  } finally {
    ctx.telemetry.flush();
  }
}
