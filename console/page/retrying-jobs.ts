import { LONGEST_LIST } from "../../src/core/constants.ts";
import type { JobSummary } from "../../src/http/answers/jobs.ts";
import { jobPage, topicOf } from "./reads.ts";
import { isoAt } from "./times.ts";

/** `until`: jobs that are due later were not read, ms since the epoch. Absent: all were. */
export type Retrying = { readonly jobs: readonly JobSummary[]; readonly until?: number };

const MOST_PAGES = 20;
const PATIENCE_MS = 10_000;
const PAGE_JOBS = 1000;

/**
 * The jobs of a topic that wait for a retry. The API has no list of them, so the waiting jobs are read in the order of their due times: the
 * next retries come first. The topic says how many there are.
 */
export async function readRetrying(topic: string, now: number, signal: AbortSignal): Promise<Retrying> {
  const asked = { topic, state: "scheduled", from: isoAt(now), to: isoAt(now + LONGEST_LIST) } as const;
  const { count, atLeast } = topicOf(topic)?.retrying ?? { count: 0, atLeast: true };
  const end = performance.now() + PATIENCE_MS;
  const jobs: JobSummary[] = [];
  let cursor: string | undefined;
  for (let page = 1; ; page += 1) {
    const read = await jobPage(asked, cursor, signal, PAGE_JOBS);
    jobs.push(...read.jobs.filter(({ retrying }) => retrying));
    cursor = read.cursor;
    if (cursor === undefined || (!atLeast && jobs.length >= count)) return { jobs };
    const last = read.jobs.at(-1);
    if (page >= MOST_PAGES || performance.now() > end)
      return { jobs, until: last ? Date.parse(last.dueAt) : now };
  }
}
