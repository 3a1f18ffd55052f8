import type { BulkResult, CountPart } from "../../src/client/answers.ts";
import { LONGEST_LIST } from "../../src/core/constants.ts";
import type { Change } from "../carried.ts";
import { api } from "./api.ts";
import type { Asked } from "./bulk-calls.ts";
import { jobPages } from "./reads.ts";
import { partsOf } from "./time-buckets.ts";
import { isoAt, MINUTE, SECOND } from "./times.ts";

/**
 * A bulk counts the jobs of one topic, and for that it reads each minute of its range. So the jobs of all topics are counted in one pass: in
 * one for each tag and group that the lines have. Only the lines of a run then need counts of their own, of a shorter range.
 */

/** The waiting jobs of a line: how many there are, and from when to when they are due, ms since the epoch. */
export type Waiting = {
  readonly waiting: number;
  readonly running: number;
  readonly from: number;
  readonly to: number;
};

type Range = { readonly from: number; readonly to: number };

const WAITING: readonly string[] = ["scheduled", "held", "late", "retrying"];
const STEPS = 500;
/** So many parts of a range are counted at a time. */
const AT_ONCE = 4;

/** The range that a pass counts. `undefined`: the API would refuse it, or a pass would save nothing. */
export function rangeOfPass({ action }: Change, all: readonly Asked[]): Range | undefined {
  const [first] = all;
  if (first === undefined || action === "redrive" || action === "dismiss") return undefined;
  if (all.length === 1 && action === "run") return undefined;
  const [from, to] = [Date.parse(first.from ?? ""), Date.parse(first.to ?? "")];
  return to > from && to - from <= LONGEST_LIST ? { from, to } : undefined;
}

type Label = { readonly tag?: string | undefined; readonly group?: string | undefined };

/** The name of a line in what a pass finds. */
export function lineName({ topic, tag = "", group = "" }: Label & { readonly topic: string }): string {
  return JSON.stringify([topic, tag, group]);
}

/** Counts the jobs of all lines. `tell` gets the counts so far and the time up to which about all jobs are counted. */
export async function countWaiting(
  { from, to }: Range,
  all: readonly Asked[],
  signal: AbortSignal,
  tell: (known: ReadonlyMap<string, Waiting>, reached: number) => void,
): Promise<ReadonlyMap<string, Waiting>> {
  const step = Math.min(Math.ceil((to - from) / STEPS / MINUTE), 24 * 60) * MINUTE;
  const known = new Map<string, Waiting>();
  const labels = [...Map.groupBy(all, (line) => lineName({ ...line, topic: "" })).values()];
  let counted = 0;
  for (const [{ tag, group } = {}] of labels) {
    const countPart = async (part: Range) => {
      let reached = part.from;
      const parts = tag || group ? listed(part, { tag, group }, signal) : counts(part, step, signal);
      for await (const { some, until } of parts) {
        for (const jobs of some) addJobs(known, lineName({ ...jobs, tag, group }), jobs, { from, to });
        counted += until - reached;
        reached = until;
        tell(known, from + counted / labels.length);
      }
    };
    await Promise.all(partsOf({ from, to }, step, AT_ONCE).map(countPart));
  }
  return known;
}

/** Jobs of a topic and a state, and when they are due: `from ≤ due < to`, ms since the epoch. */
type Jobs = Range & Pick<CountPart["counts"][number], "topic" | "state" | "count">;
type Part = { readonly some: readonly Jobs[]; readonly until: number };

/** The API counts by topic. */
async function* counts({ from, to }: Range, step: number, signal: AbortSignal): AsyncGenerator<Part> {
  const asked = { from: new Date(from), to: new Date(to), step: step / SECOND, signal };
  for await (const page of api.counts(asked)) {
    const some = page.counts.map((cell) => {
      const begin = Date.parse(cell.from);
      return { ...cell, from: begin, to: begin + step };
    });
    yield { some, until: Math.min(Date.parse(page.reached), to) };
  }
}

/** It does not count by tag or group, but it lists the jobs of all topics that have them. */
async function* listed(
  { from, to }: Range,
  { tag, group }: Label,
  signal: AbortSignal,
): AsyncGenerator<Part> {
  const asked = { tag, group, from: isoAt(from), to: isoAt(to) };
  for await (const { jobs, until } of jobPages(asked, signal)) {
    const some = jobs.map(({ topic, state, dueAt }) => {
      const due = Date.parse(dueAt);
      return { topic, state, count: 1, from: due, to: due + 1 };
    });
    yield { some, until };
  }
}

function addJobs(
  known: Map<string, Waiting>,
  name: string,
  { state, count, ...due }: Jobs,
  range: Range,
): void {
  const isWaiting = WAITING.includes(state);
  if (!isWaiting && state !== "running") return;
  const [begin, end] = [Math.max(due.from, range.from), Math.min(due.to, range.to)];
  const before = known.get(name) ?? { waiting: 0, running: 0, from: begin, to: end };
  known.set(name, {
    waiting: before.waiting + (isWaiting ? count : 0),
    running: before.running + (isWaiting ? 0 : count),
    from: Math.min(before.from, begin),
    to: Math.max(before.to, end),
  });
}

/** What the pass says of a line. `undefined`: the line needs a count of its own. */
export function countedByPass(
  action: Change["action"],
  found: Waiting | undefined,
  { from, to }: Range,
): BulkResult | undefined {
  // A run leaves out the jobs that may start already.
  if (found !== undefined && action === "run") return undefined;
  const { waiting = 0, running = 0 } = found ?? {};
  const range = { from: isoAt(found?.from ?? from), to: isoAt(found?.to ?? to), reached: isoAt(to) };
  const matched = waiting + running;
  const skipped: Record<string, number> = running === 0 ? {} : { "job-running": running };
  return {
    action,
    ...{ dryRun: true, examined: matched, matched, changed: 0, skipped, errors: [] },
    ...range,
  };
}
