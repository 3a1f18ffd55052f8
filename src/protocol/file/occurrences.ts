import { MinutehandError } from "../../core/errors.ts";
import type { Schedule } from "../../core/occurrence.ts";
import { schedulerExpression } from "../../cron/crontab.ts";
import type { Recurrence } from "../../cron/expression.ts";

/** The next `count` occurrences after `now`, as if the schedule were not paused; fewer if it ends before. */
export async function nextOccurrences(schedule: Schedule, now: number, count: number): Promise<number[]> {
  const recurrence = await recurrenceOf(schedule);
  const times: number[] = [];
  let time = recurrence.next(now);
  while (time !== undefined && times.length < count) {
    times.push(time);
    time = recurrence.next(time);
  }
  return times;
}

/** The occurrences after `from` and up to `to`, as if the schedule were not paused. */
export async function occurrencesIn(schedule: Schedule, from: number, to: number): Promise<number[]> {
  const recurrence = await recurrenceOf(schedule);
  const times: number[] = [];
  for (let time = recurrence.next(from); time !== undefined && time <= to; time = recurrence.next(time))
    times.push(time);
  return times;
}

/** @throws `bad-request`: the schedule never occurs, or an `at(…)` has a start or an end */
export async function assertOccurs(schedule: Schedule, now: number): Promise<void> {
  const { expression, start, end } = schedule;
  if (expression.startsWith("at(") && (start !== undefined || end !== undefined)) {
    throw new MinutehandError(
      "bad-request",
      "start and end must be given for cron and rate only: at(…) occurs once",
    );
  }
  if ((await nextOccurrences(schedule, now, 1)).length > 0) return;
  throw new MinutehandError(
    "bad-request",
    `expression must have an occurrence after ${new Date(now).toISOString()}, within start and end if given, got ` +
      JSON.stringify(expression),
  );
}

/** The start date for Scheduler, at most five minutes past. A rate gets its next occurrence: the same times follow. */
export async function startDateOf(schedule: Schedule, now: number): Promise<number | undefined> {
  const { expression, start } = schedule;
  if (expression.startsWith("rate(")) return (await nextOccurrences(schedule, now, 1))[0];
  return expression.startsWith("cron(") && start !== undefined && start > now ? start : undefined;
}

async function recurrenceOf({ expression, timezone, anchor, start, end }: Schedule): Promise<Recurrence> {
  // The code of calendars is large, and most functions never load it.
  const { parseExpression } = await import("../../cron/expression.ts");
  return refusing(() =>
    parseExpression(expression, {
      timezone,
      anchor,
      ...(start === undefined ? {} : { start }),
      ...(end === undefined ? {} : { end }),
    }),
  );
}

/** The expression as EventBridge Scheduler writes it. @throws `bad-request` */
export const expressionOf = (text: string): string => refusing(() => schedulerExpression(text));

function refusing<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RangeError) throw new MinutehandError("bad-request", error.message, {}, error);
    throw error;
  }
}
