import { JOB_OPTIONS, type JobOption, type JobOptions } from "../src/core/job-options.ts";
import { toJson } from "../src/core/json.ts";
import { occurrenceInput } from "../src/core/occurrence.ts";
import { type AppDuration, secondsOf } from "./app-duration.ts";
import type { ScheduleProps } from "./props.ts";

/** The options that a declared schedule can give to its jobs. Headers and receivers are for `PUT /schedules/{name}`. */
export const DECLARED_OPTIONS = ["expiresAfter", "maxAttempts", "tag", "group", "spread"] as const satisfies (
  | JobOption
  | undefined
)[];

/**
 * Makes the input of the target of a schedule that the construct at `path` declares. Scheduler knows when the schedule was created, and a cron
 * expression needs no first time.
 */
export function declaredInput(path: string, name: string, schedule: ScheduleProps): string {
  const { topic, body } = schedule;
  const options = Object.fromEntries(
    DECLARED_OPTIONS.flatMap((option): [string, unknown][] => {
      const value = schedule[option];
      if (value === undefined) return [];
      const isDuration = JOB_OPTIONS[option].kind === "duration";
      return [[option, isDuration ? secondsOf(value as AppDuration) * 1000 : value]];
    }),
  ) as JobOptions;
  const { expression, timezone = "UTC", paused = false } = schedule;
  const job = { topic, body: toJson(body), ...options };
  return occurrenceInput({
    name,
    expression,
    timezone,
    paused,
    anchor: 0,
    createdAt: 0,
    declared: path,
    job,
  });
}
