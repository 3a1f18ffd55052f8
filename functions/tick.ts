import type { Context as LambdaContext } from "aws-lambda";
import { HANGS_FOR } from "../src/core/constants.ts";
import { tickPartIn } from "../src/core/tick-part.ts";
import { createContext } from "../src/environment/context.ts";
import { createEventSources, createPollerRemoval } from "../src/environment/event-sources.ts";
import { createSweepers } from "../src/environment/sweepers.ts";
import { sweepPart, tick } from "../src/protocol/hand-over/tick.ts";

/** How long before Lambda's timeout the tick stops beginning new work, ms. A call may hang (`HANGS_FOR`), and then telemetry is written. */
const MARGIN = HANGS_FOR + 5_000;

const ctx = { ...createContext(), eventSources: createEventSources(), sweepers: createSweepers() };
const removePollers = createPollerRemoval();

/** Once each minute. A tick with a backlog invokes this function again, with a part of its work. */
export async function handler(event: unknown, { getRemainingTimeInMillis }: LambdaContext): Promise<void> {
  const until = ctx.clock() + getRemainingTimeInMillis() - MARGIN;
  try {
    const part = tickPartIn(event);
    await (part ? sweepPart(ctx, part, Math.min(part.until, until)) : tick(ctx, until));
    if (!part) await removePollers(ctx.report);
  } finally {
    ctx.telemetry.flush();
  }
}
