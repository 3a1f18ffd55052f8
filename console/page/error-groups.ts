import type { JobSummary } from "../../src/http/answers/jobs.ts";
import { withVisibleMarks } from "./direction.ts";

export type ErrorGroup = {
  /** The first line of the error, in which values that differ from job to job are replaced by `…`. */
  readonly name: string;
  /** The dead jobs, the latest death first. */
  readonly jobs: readonly JobSummary[];
};

/** UUIDs, hashes and ids: words of letters and digits that are long and contain a digit. */
const IDS = /\b(?=[\w-]*\d)[\w-]{12,}\b/g;
const ADDRESSES = /\b\d+(?:\.\d+){3}(?::\d+)?\b/g;
/** All numbers except those that may be a status of HTTP, because errors with different statuses belong in different groups. */
const NUMBERS = /\b(?![1-5]\d\d\b)\d+(?:[.,:]\d+)*/g;
const QUOTED = /"[^"]*"|'[^']*'/g;
const LONGEST_NAME = 200;

/** Groups dead jobs by their errors, the largest group first. */
export function groupByError(jobs: readonly JobSummary[]): ErrorGroup[] {
  const groups = Map.groupBy(jobs, ({ lastError }) => nameOf(lastError));
  return [...groups]
    .map(([name, alike]) => ({ name, jobs: alike.toSorted((a, b) => diedAt(b) - diedAt(a)) }))
    .sort((a, b) => b.jobs.length - a.jobs.length);
}

/** When a job died, ms since the epoch. */
export function diedAt({ finishedAt, dueAt }: Pick<JobSummary, "finishedAt" | "dueAt">): number {
  return Date.parse(finishedAt ?? dueAt);
}

function nameOf(error = ""): string {
  const [line = ""] = error.split("\n");
  const name = withVisibleMarks(line)
    .slice(0, LONGEST_NAME)
    .replace(QUOTED, "…")
    .replace(ADDRESSES, "…")
    .replace(IDS, "…")
    .replace(NUMBERS, "…")
    .trim();
  return name === "" ? "no error was recorded" : name;
}
