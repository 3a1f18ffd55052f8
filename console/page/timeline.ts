import { useEffect, useState } from "preact/hooks";
import type { JobSummary } from "../../src/http/answers/jobs.ts";
import { api } from "./api.ts";
import { jobPage } from "./reads.ts";
import { now, zone } from "./state.ts";
import { type Buckets, countJobs, type Range, withCounts } from "./time-buckets.ts";
import { MINUTE, timeText } from "./times.ts";

/** So many jobs of a range are read one by one. */
const READ_JOBS = 3000;
/** A range of this length, or a shorter one, is read job by job. The API counts the jobs of longer ranges, and of ranges with more jobs. */
const JOBS_SPAN = 15 * MINUTE;

export type Timeline = {
  readonly counts: ReadonlyMap<string, Buckets>;
  readonly jobs: readonly JobSummary[];
  readonly status: string;
  readonly isReading: boolean;
  readonly error: unknown;
  readonly again: () => void;
};

const EMPTY = { counts: new Map(), jobs: [], status: "Reading …", isReading: true, error: undefined };

/** A new range ends the reading of the one before. */
export function useTimeline(topics: readonly string[], { from, to }: Range, step: number): Timeline {
  const [timeline, setTimeline] = useState<Omit<Timeline, "again">>(EMPTY);
  const [count, setCount] = useState(0);
  const names = topics.join(" ");
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    readTimeline(names.split(" "), { from, to }, step, signal, (known) => {
      if (!signal.aborted) setTimeline((before) => ({ ...before, ...known }));
    }).catch((error: unknown) => {
      if (!signal.aborted) setTimeline((before) => ({ ...before, status: "", isReading: false, error }));
    });
    return () => stop.abort();
  }, [names, from, to, step, count]);
  return { ...timeline, again: () => setCount(count + 1) };
}

async function readTimeline(
  topics: readonly string[],
  { from, to }: Range,
  step: number,
  signal: AbortSignal,
  tell: (known: Partial<Omit<Timeline, "again">>) => void,
): Promise<void> {
  tell({ status: "Reading …", isReading: true, error: undefined });
  if (to - from <= JOBS_SPAN) {
    const { jobs, isWhole } = await readJobs({ from, to }, signal);
    const wanted = jobs.filter(({ topic }) => topics.includes(topic));
    tell({ counts: countJobs(wanted, step), jobs: wanted });
    if (isWhole) return tell({ status: "", isReading: false });
  } else tell({ jobs: [] });
  const [only] = topics;
  const one = topics.length === 1 && only !== undefined ? { topic: only } : {};
  const range = { from: new Date(from), to: new Date(to) };
  let counts: ReadonlyMap<string, Buckets> = new Map();
  for await (const part of api.counts({ ...one, ...range, step: step / 1000, signal })) {
    counts = withCounts(counts, part.counts ?? [], step);
    const until = timeText(Date.parse(part.reached), now.value, zone.value);
    tell({ counts, status: `Counted until ${until} …` });
  }
  tell({ counts, status: "", isReading: false });
}

/** Reads the first jobs of a range. `isWhole`: there are no others. */
async function readJobs(
  { from, to }: Range,
  signal: AbortSignal,
): Promise<{ jobs: JobSummary[]; isWhole: boolean }> {
  const jobs: JobSummary[] = [];
  let cursor: string | undefined;
  do {
    const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    const page = await jobPage(range, cursor, signal);
    jobs.push(...page.jobs);
    cursor = page.cursor;
  } while (cursor !== undefined && jobs.length < READ_JOBS);
  return { jobs, isWhole: cursor === undefined };
}
