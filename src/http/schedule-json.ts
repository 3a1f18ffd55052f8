import { MinutehandError } from "../core/errors.ts";
import { optionsInSeconds, optionsOf } from "../core/job-options.ts";
import type { Schedule } from "../core/occurrence.ts";
import { iso } from "../general/times.ts";
import { nextOccurrences } from "../protocol/file/occurrences.ts";
import type { Paused } from "../protocol/file/recurring.ts";
import type { ScheduleJson, ScheduleSummary } from "./answers/schedules.ts";

const TOLD = 5;

/** A schedule without the body of its jobs. */
export async function scheduleSummaryOf(schedule: Schedule, now: number): Promise<ScheduleSummary> {
  const { name, expression, timezone, start, end, flexibleWindow, paused, createdAt, declared } = schedule;
  return {
    name,
    expression,
    timezone,
    ...(start === undefined ? {} : { start: iso(start) }),
    ...(end === undefined ? {} : { end: iso(end) }),
    ...(flexibleWindow === undefined ? {} : { flexibleWindow: flexibleWindow / 1000 }),
    topic: schedule.job.topic,
    ...optionsInSeconds(optionsOf(schedule.job)),
    paused,
    createdAt: iso(createdAt),
    ...(declared === undefined ? {} : { declared }),
    next: (await nextTimesOf(schedule, now)).map(iso),
  };
}

/** None for an expression that this code cannot read: one such schedule must not make a whole list fail. */
async function nextTimesOf(schedule: Schedule, now: number): Promise<number[]> {
  try {
    return await nextOccurrences(schedule, now, TOLD);
  } catch (error) {
    if (error instanceof MinutehandError) return [];
    throw error;
  }
}

export async function scheduleJsonOf(schedule: Paused, now: number): Promise<ScheduleJson> {
  const { job, skippedInPause } = schedule;
  return {
    ...(await scheduleSummaryOf(schedule, now)),
    body: JSON.parse(job.body),
    ...(skippedInPause === undefined ? {} : { skippedInPause }),
  };
}
