import type { ForecastJson } from "../../src/http/answers/forecast.ts";
import type { JobSummary } from "../../src/http/answers/jobs.ts";
import { type ShownState, shownState } from "./shown-state.ts";
import { HOUR, MINUTE, SECOND } from "./times.ts";

/** The kinds of jobs on the time axis, from the bottom of a bar to its top. */
export const KINDS = ["done", "failed", "running", "late", "retrying", "due", "held"] as const;
export type Kind = (typeof KINDS)[number];
export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  done: "done",
  failed: "dead or expired",
  running: "running",
  late: "late",
  retrying: "retrying",
  due: "due",
  held: "held",
};
export type Counts = Readonly<Record<Kind, number>>;

/** The counts of a topic by the beginning of their bucket, ms since the epoch. */
export type Buckets = ReadonlyMap<number, Counts>;

/** A range of time, ms since the epoch. */
export type Range = { readonly from: number; readonly to: number };

const STEPS = [SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR];
/** More bars would be too narrow to point at. */
const MOST_BARS = 180;

/** The longest and the shortest range that the axis shows. A list has at most 31 days. */
export const LONGEST = 31 * 24 * HOUR;
const SHORTEST = 10 * SECOND;

/** How long a bar of a range lasts, ms. */
export function stepOf({ from, to }: Range): number {
  return STEPS.find((step) => (to - from) / step <= MOST_BARS) ?? 24 * HOUR;
}

/** Makes a range shorter (`factor` below 1) or longer around a point in time, which stays where it is. */
export function zoomed({ from, to }: Range, factor: number, around: number): Range {
  const span = Math.min(Math.max((to - from) * factor, SHORTEST), LONGEST);
  const share = (around - from) / (to - from);
  const begin = Math.round(around - share * span);
  return { from: begin, to: Math.round(begin + span) };
}

/** The time at a place of an element that shows a range. `x`: the place, px. */
export function timeAt(
  x: number,
  { left, width }: { readonly left: number; readonly width: number },
  { from, to }: Range,
): number {
  return from + ((x - left) / width) * (to - from);
}

export function moved({ from, to }: Range, share: number): Range {
  const by = Math.round((to - from) * share);
  return { from: from + by, to: to + by };
}

type StateCount = NonNullable<ForecastJson["counts"]>[number];

/** The kind of jobs in a state. `undefined` for cancelled jobs, which the axis leaves out. */
export function kindOf(state: ShownState): Kind | undefined {
  switch (state) {
    case "done":
    case "handed-off":
      return "done";
    case "dead":
    case "expired":
      return "failed";
    case "running":
    case "held":
    case "late":
    case "retrying":
      return state;
    case "cancelled":
      return undefined;
    default:
      return "due";
  }
}

export const NO_COUNTS: Counts = { done: 0, failed: 0, running: 0, late: 0, retrying: 0, due: 0, held: 0 };

/** Counts jobs by topic and by the bucket in which they are due. */
export function countJobs(jobs: readonly JobSummary[], step: number): Map<string, Buckets> {
  const counts = jobs.map((job) => ({ ...job, from: job.dueAt, state: shownState(job), count: 1 }));
  return withCounts(new Map(), counts, step);
}

/** Adds what a call has counted. */
export function withCounts(
  before: ReadonlyMap<string, Buckets>,
  counts: readonly StateCount[],
  step: number,
): Map<string, Buckets> {
  const byTopic = new Map([...before].map(([name, buckets]) => [name, new Map(buckets)]));
  for (const { from, topic, state, count } of counts) {
    const kind = kindOf(state);
    if (kind !== undefined) add(byTopic, topic, bucketOf(Date.parse(from), step), kind, count);
  }
  return byTopic;
}

function add(
  byTopic: Map<string, Map<number, Counts>>,
  topic: string,
  bucket: number,
  kind: Kind,
  count: number,
): void {
  const buckets = byTopic.get(topic) ?? new Map<number, Counts>();
  byTopic.set(topic, buckets);
  const before = buckets.get(bucket) ?? NO_COUNTS;
  buckets.set(bucket, { ...before, [kind]: before[kind] + count });
}

function bucketOf(at: number, step: number): number {
  return Math.floor(at / step) * step;
}

/**
 * For a chart whose bars overlap, a kind counts the kinds before it too. The first bar is empty, because bars get the width of the smallest
 * distance of two of them.
 */
export function stacked(buckets: Buckets, step: number): { times: number[]; sums: number[][] } {
  const full = [...buckets.keys()].sort((a, b) => a - b);
  const times = full[0] === undefined ? [] : [full[0] - step, ...full];
  const sums = KINDS.map(() => [] as number[]);
  for (const time of times) {
    let sum = 0;
    for (const [index, kind] of KINDS.entries()) {
      sum += buckets.get(time)?.[kind] ?? 0;
      sums[index]?.push(sum);
    }
  }
  return { times, sums };
}

/** Parts of a range, about equally long, that begin where bars begin. */
export function partsOf({ from, to }: Range, step: number, most: number): Range[] {
  const length = Math.max(Math.ceil((to - from) / most / step) * step, step);
  const parts: Range[] = [];
  for (let begin = from; begin < to; ) {
    const end = Math.min(bucketOf(begin + length, step), to);
    parts.push({ from: begin, to: end });
    begin = end;
  }
  return parts;
}

/** The beginnings of the bars that lie in a range, the earliest first, ms since the epoch. */
export function barsIn(buckets: Buckets, { from, to }: Range, step: number): number[] {
  return [...buckets.keys()].filter((begin) => begin + step > from && begin < to).sort((a, b) => a - b);
}

export function tallestOf(buckets: Buckets): number {
  return [...buckets.values()].reduce((most, counts) => Math.max(most, sumOf(counts)), 1);
}

/** `12 done, 1,000 due`; empty if there are no jobs. */
export function countsText(counts: Counts): string {
  return KINDS.flatMap((kind) =>
    counts[kind] === 0 ? [] : [`${counts[kind].toLocaleString("en")} ${KIND_WORDS[kind]}`],
  ).join(", ");
}

/** The counts of all topics by bucket, as if they were those of one topic. */
export function together(all: Iterable<Buckets>): Buckets {
  const sums = new Map<number, Counts>();
  for (const buckets of all)
    for (const [begin, counts] of buckets) sums.set(begin, plus(sums.get(begin) ?? NO_COUNTS, counts));
  return sums;
}

function plus(one: Counts, other: Counts): Counts {
  return Object.fromEntries(KINDS.map((kind) => [kind, one[kind] + other[kind]])) as Counts;
}

export function sumOfAll(buckets: Buckets): Counts {
  return [...buckets.values()].reduce(plus, NO_COUNTS);
}

function sumOf(counts: Counts): number {
  return KINDS.reduce((sum, kind) => sum + counts[kind], 0);
}
