import type { JobSummary } from "../../src/http/answers/jobs.ts";

/**
 * The API judged the job, by its own clock, when it answered. So a page that is old, or whose browser has a wrong clock, calls no job late
 * that was not late.
 */
export function shownState({
  state,
  held,
  lateSince,
}: Pick<JobSummary, "state" | "held" | "lateSince">): JobSummary["state"] | "held" | "late" {
  if (held) return "held";
  return lateSince === undefined ? state : "late";
}
