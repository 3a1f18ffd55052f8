import type { Schedule } from "../core/occurrence.ts";
import { nextOf } from "../protocol/recurring.ts";
import type { ScheduleJson, ScheduleSummary } from "./answers.ts";
import { iso } from "./instants.ts";

const TOLD = 5;

/** A schedule without its jobs' body, as it is at this moment. */
export function scheduleSummaryOf(schedule: Schedule, now: number): ScheduleSummary {
  const { name, expression, timezone, start, end, flexibleWindow, paused, createdAt } = schedule;
  const { body: _, expiresAfter, spread, ...job } = schedule.job;
  return {
    name,
    expression,
    timezone,
    ...(start === undefined ? {} : { start: iso(start) }),
    ...(end === undefined ? {} : { end: iso(end) }),
    ...(flexibleWindow === undefined ? {} : { flexibleWindow: flexibleWindow / 1000 }),
    ...job,
    ...(expiresAfter === undefined ? {} : { expiresAfter: expiresAfter / 1000 }),
    ...(spread === undefined ? {} : { spread: spread / 1000 }),
    paused,
    createdAt: iso(createdAt),
    next: nextOf(schedule, now, TOLD).map(iso),
  };
}

/** A whole schedule. */
export function scheduleJsonOf(schedule: Schedule, now: number): ScheduleJson {
  return { ...scheduleSummaryOf(schedule, now), body: JSON.parse(schedule.job.body) };
}
