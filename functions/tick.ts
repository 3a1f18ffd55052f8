import type { Context as LambdaContext } from "aws-lambda";
import { HANGS_FOR } from "../src/core/constants.ts";
import { tickPartIn } from "../src/core/tick-part.ts";
import { createContext } from "../src/environment/context.ts";
import { createEventSources, createPollerRemoval } from "../src/environment/event-sources.ts";
import { createScheduler } from "../src/environment/scheduler.ts";
import { createSweepers } from "../src/environment/sweepers.ts";
import { keepSchedules } from "../src/protocol/file/keep-schedules.ts";
import { sweepPart, tick } from "../src/protocol/hand-over/tick.ts";

/** How long before Lambda's timeout the tick stops beginning new work, ms. A call may hang (`HANGS_FOR`), and then telemetry is written. */
const MARGIN = HANGS_FOR + 5_000;

const base = createContext();
const eventSources = createEventSources(base.policy);
const ctx = { ...base, ...createScheduler(), eventSources, sweepers: createSweepers() };
const removePollers = createPollerRemoval(base.policy);

/** Once each minute. A tick with a backlog invokes this function again, with a part of its work. */
export async function handler(event: unknown, { getRemainingTimeInMillis }: LambdaContext): Promise<void> {
  const until = ctx.clock() + getRemainingTimeInMillis() - MARGIN;
  let schedules: Promise<void> | undefined;
  try {
    const part = tickPartIn(event);
    if (!part) schedules = keepSchedules(ctx, until);
    await (part ? sweepPart(ctx, part, Math.min(part.until, until)) : tick(ctx, until));
    if (!part) await removePollers(ctx.report);
  } finally {
    await schedules;
    await ctx.telemetry.flush();
  }
}
