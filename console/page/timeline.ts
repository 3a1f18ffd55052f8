import { useEffect, useState } from "preact/hooks";
import type { JobSummary } from "../../src/http/answers/jobs.ts";
import { api } from "./api.ts";
import { createPatience } from "./patience.ts";
import { jobPage } from "./reads.ts";
import { type Buckets, countJobs, partsOf, type Range, withCounts } from "./time-buckets.ts";
import { MINUTE } from "./times.ts";

/** So many jobs of a range are read one by one. */
const READ_JOBS = 3000;
/** A range of this length, or a shorter one, is read job by job. The API counts the jobs of longer ranges, and of ranges with more jobs. */
const JOBS_SPAN = 15 * MINUTE;

/** So many parts of a range are counted at the same time. */
const COUNTED_AT_ONCE = 4;
export type Timeline = {
  readonly counts: ReadonlyMap<string, Buckets>;
  readonly jobs: readonly JobSummary[];
  readonly status: string;
  readonly isReading: boolean;
  readonly error: unknown;
  readonly again: () => void;
  /** Goes on with a counting that waits. `undefined`: none does. */
  readonly goOn: (() => void) | undefined;
};

const EMPTY = {
  ...{ counts: new Map(), jobs: [], status: "Reading …", isReading: true },
  ...{ error: undefined, goOn: undefined },
};

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
  tell: Tell,
): Promise<void> {
  tell({ status: "Reading …", isReading: true, error: undefined, goOn: undefined });
  if (to - from <= JOBS_SPAN) {
    const { jobs, isWhole } = await readJobs({ from, to }, signal);
    const wanted = jobs.filter(({ topic }) => topics.includes(topic));
    tell({ counts: countJobs(wanted, step), jobs: wanted });
    if (isWhole) return tell({ status: "", isReading: false });
  } else tell({ jobs: [] });
  await countAll(topics, { from, to }, step, signal, tell);
}

type Tell = (known: Partial<Omit<Timeline, "again">>) => void;

async function countAll(
  topics: readonly string[],
  range: Range,
  step: number,
  signal: AbortSignal,
  tell: Tell,
): Promise<void> {
  const [only] = topics;
  const one = topics.length === 1 && only !== undefined ? { topic: only } : {};
  let counts: ReadonlyMap<string, Buckets> = new Map();
  let counted = 0;
  const share = () => `${Math.floor((100 * counted) / (range.to - range.from))} %`;
  const keepPatience = createPatience(share, tell, () => performance.now());

  async function countPart({ from, to }: Range): Promise<void> {
    let reached = from;
    const asked = { from: new Date(from), to: new Date(to), step: step / 1000, signal };
    for await (const part of api.counts({ ...one, ...asked })) {
      counts = withCounts(counts, part.counts, step);
      const next = Math.min(Date.parse(part.reached), to);
      counted += next - reached;
      reached = next;
      tell({ counts, status: `Counted ${share()} of this time …` });
      await keepPatience();
    }
  }

  await Promise.all(partsOf(range, step, COUNTED_AT_ONCE).map(countPart));
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
