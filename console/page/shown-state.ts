import type { JobSummary } from "../../src/http/answers/jobs.ts";

export type ShownState = JobSummary["state"] | "held" | "late" | "retrying";
export type ShownJob = Pick<JobSummary, "state" | "held" | "lateSince" | "attempt" | "lastError">;

/**
 * The API judged the job, by its own clock, when it answered. So a page that is old, or whose browser has a wrong clock, calls no job late
 * that was not late. A job is `retrying` if its last attempt failed and the next one is not due yet.
 */
export function shownState({ state, held, lateSince, attempt, lastError }: ShownJob): ShownState {
  if (held) return "held";
  if (lateSince !== undefined) return "late";
  return state === "scheduled" && attempt > 0 && lastError !== undefined ? "retrying" : state;
}
