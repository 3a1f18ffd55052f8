import type { JobSummary } from "../../src/http/answers/jobs.ts";

export type ShownState = JobSummary["state"] | "held" | "late" | "retrying";
export type ShownJob = Pick<JobSummary, "state" | "held" | "lateSince" | "retrying">;

/**
 * The API judged the job, by its own clock, when it answered. So a page that is old, or whose browser has a wrong clock, calls no job late
 * that was not late.
 */
export function shownState({ state, held, lateSince, retrying }: ShownJob): ShownState {
  if (held) return "held";
  if (lateSince !== undefined) return "late";
  return retrying ? "retrying" : state;
}
