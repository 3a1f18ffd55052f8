import cronstrue from "cronstrue";
import { schedulerExpression } from "../../src/cron/crontab.ts";
import { parseExpression } from "../../src/cron/expression.ts";
import type { ScheduleSummary } from "../../src/http/answers/schedules.ts";
import { startOfDay, type Zone } from "./times.ts";

/** Says in words when a stored schedule occurs. An expression of a newer version, which this page cannot read, stays as it is. */
export function wordsOrExpression({
  expression,
  timezone,
}: Pick<ScheduleSummary, "expression" | "timezone">): string {
  try {
    return wordsOf(expression, timezone);
  } catch (error) {
    if (error instanceof RangeError) return `${expression}, ${timezone}`;
    throw error;
  }
}

/** Says in words when an expression occurs. Throws `RangeError` for an expression that the API refuses. */
export function wordsOf(text: string, timezone: string): string {
  const expression = schedulerExpression(text);
  parseExpression(expression, { timezone });
  const [, kind, inner = ""] = /^(cron|rate|at)\((.*)\)$/.exec(expression) ?? [];
  if (kind === "rate") return `Every ${inner.replace(/^1 /, "")}`;
  if (kind === "at") return `Once, on ${inner.replace("T", " at ")}, ${timezone}`;
  // cronstrue reads the seconds first. In EventBridge, Sunday is day 1.
  const options = { dayOfWeekStartIndexZero: false, use24HourTimeFormat: true };
  return `${cronstrue.toString(`0 ${inner}`, options)}, ${timezone}`;
}

export type Occurring = Pick<ScheduleSummary, "expression" | "timezone" | "next"> &
  Partial<Pick<ScheduleSummary, "start" | "end">>;

/** The next occurrences after `after`, at most `most`. Times are ms since the epoch. Throws `RangeError` for a wrong expression. */
export function occurrencesOf(schedule: Occurring, after: number, before: number, most: number): number[] {
  const { expression, timezone, start, end, next: known } = schedule;
  const recurrence = parseExpression(schedulerExpression(expression), {
    timezone,
    ...(start === undefined ? {} : { start: Date.parse(start) }),
    ...(end === undefined ? {} : { end: Date.parse(end) }),
    ...(known[0] === undefined ? {} : { anchor: Date.parse(known[0]) }),
  });
  const found: number[] = [];
  let next = recurrence.next(after);
  while (next !== undefined && next < before && found.length < most) {
    found.push(next);
    next = recurrence.next(next);
  }
  return found;
}

export type StripDay = {
  readonly begin: number;
  readonly count: number;
  readonly isMore: boolean;
};

const DAYS = 7;
/** Occurrences of a day are counted up to this number. */
export const DAY_COUNTED = 300;

/** How often a schedule occurs on each of the next seven days, today included. Past occurrences of today do not count. */
export function stripOf(schedule: Occurring, now: number, zone: Zone): StripDay[] {
  // A schedule that never occurs again, or that this page cannot read, has no known next occurrence.
  const never = schedule.next.length === 0;
  const begins = Array.from({ length: DAYS + 1 }, (_, day) => startOfDay(now, zone, day));
  return begins.slice(0, DAYS).map((begin, day) => {
    if (never) return { begin, count: 0, isMore: false };
    const found = occurrencesOf(
      schedule,
      Math.max(begin - 1, now),
      begins[day + 1] ?? begin,
      DAY_COUNTED + 1,
    );
    return { begin, count: Math.min(found.length, DAY_COUNTED), isMore: found.length > DAY_COUNTED };
  });
}
