import { useEffect, useState } from "preact/hooks";
import type { JobSummary } from "../../src/http/answers.ts";
import { api } from "./api.ts";
import { countTopics, type Minute } from "./count-topics.ts";
import { jobPage, pauseOf, readTopics } from "./reads.ts";
import { zone } from "./state.ts";
import {
  type Buckets,
  countJobs,
  partsOf,
  type Range,
  sumOf,
  sumOfAll,
  withForecast,
} from "./time-buckets.ts";
import { MINUTE, timeText } from "./times.ts";

/** So many jobs of a range are read one by one. */
const READ_JOBS = 3000;
/** A range of this length, or a shorter one, is read job by job, also in the future. Longer ranges in the future are counted. */
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

/**
 * The past and short ranges are read job by job. The future of longer ranges is counted, the nearest minutes first, because the API reads
 * each counted job. A new range ends the reading of the one before.
 */
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
  const now = Date.now();
  const isShort = to - from <= JOBS_SPAN;
  const end = isShort ? to : Math.min(to, now);
  const { jobs, reached } =
    from < end ? await readJobs({ from, to: end }, signal) : { jobs: [], reached: end };
  const wanted = jobs.filter(({ topic }) => topics.includes(topic));
  // A pause holds jobs. It may be newer than the topics that an earlier view has read.
  await readTopics();
  let counts: Map<string, Buckets> = countJobs(wanted, step, now, pauseOf);
  const cut = reached < end ? `The first ${READ_JOBS.toLocaleString("en")} jobs were read one by one.` : "";
  tell({ counts, jobs: wanted, status: cut });
  // A short range with many jobs is read to `reached` only. The rest of it is counted.
  const counted = isShort ? reached : Math.max(now, from);
  for (const part of partsOf({ from: Math.max(counted, from), to })) {
    const range = { from: new Date(part.from), to: new Date(part.to) };
    const until = `until ${timeText(part.to, now, zone.value)} …`;
    const read = async (topic: string | undefined) => {
      tell({ status: `${cut} Counting the jobs ${topic === undefined ? "" : `of ${topic} `}${until}` });
      const minutes: Minute[] = [];
      for await (const one of api.forecast({ ...(topic && { topic }), ...range, signal })) minutes.push(one);
      return minutes;
    };
    const busiest = topics.toSorted((one, other) => jobsOf(counts.get(other)) - jobsOf(counts.get(one)));
    for await (const { topic, minutes } of countTopics(busiest, read))
      counts = withForecast(counts, topic, minutes, step);
    tell({ counts });
  }
  tell({ status: cut, isReading: false });
}

function jobsOf(buckets: Buckets = new Map()): number {
  return sumOf(sumOfAll(buckets));
}

/** Reads the first jobs of a range. `reached`: the end of what was read, ms since the epoch. */
async function readJobs(
  { from, to }: Range,
  signal: AbortSignal,
): Promise<{ jobs: JobSummary[]; reached: number }> {
  const jobs: JobSummary[] = [];
  let cursor: string | undefined;
  do {
    const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    const page = await jobPage(range, cursor, signal);
    jobs.push(...page.jobs);
    cursor = page.cursor;
  } while (cursor !== undefined && jobs.length < READ_JOBS);
  const last = jobs.at(-1);
  // Jobs of the same ms may lie on the next page.
  return { jobs, reached: cursor === undefined || last === undefined ? to : Date.parse(last.dueAt) };
}
