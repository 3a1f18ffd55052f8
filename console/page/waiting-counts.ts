import type { BulkResult, CountPart } from "../../src/client/answers.ts";
import { LONGEST_LIST } from "../../src/core/constants.ts";
import type { Change } from "../carried.ts";
import { api } from "./api.ts";
import type { Asked } from "./bulk-calls.ts";
import { partsOf } from "./time-buckets.ts";
import { isoAt, MINUTE, SECOND } from "./times.ts";

/**
 * A bulk counts the jobs of one topic, and for that it reads each minute of its range. So the jobs of all topics are counted first, in one pass:
 * then most lines need no count of their own, and the others a shorter range.
 */

/** The waiting jobs of a topic: how many there are, and from when to when they are due, ms since the epoch. */
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
  if (all.length === 1 && !isCountedByTopic(action, first)) return undefined;
  const [from, to] = [Date.parse(first.from ?? ""), Date.parse(first.to ?? "")];
  return to > from && to - from <= LONGEST_LIST ? { from, to } : undefined;
}

/** Counts are by topic. A run leaves out the jobs that may start already. */
function isCountedByTopic(action: Change["action"], { tag, group }: Asked): boolean {
  return !tag && !group && action !== "run";
}

/** Counts the jobs of all topics. `tell` gets the counts so far and the time up to which about all jobs are counted. */
export async function countWaiting(
  { from, to }: Range,
  signal: AbortSignal,
  tell: (known: ReadonlyMap<string, Waiting>, reached: number) => void,
): Promise<ReadonlyMap<string, Waiting>> {
  const step = Math.min(Math.ceil((to - from) / STEPS / MINUTE), 24 * 60) * MINUTE;
  const known = new Map<string, Waiting>();
  let counted = 0;
  await Promise.all(
    partsOf({ from, to }, step, AT_ONCE).map(async (part) => {
      let reached = part.from;
      const asked = { from: new Date(part.from), to: new Date(part.to), step: step / SECOND, signal };
      for await (const page of api.counts(asked)) {
        for (const cell of page.counts) addCell(known, cell, { from, to }, step);
        const next = Math.min(Date.parse(page.reached), part.to);
        counted += next - reached;
        reached = next;
        tell(known, from + counted);
      }
    }),
  );
  return known;
}

type Cell = CountPart["counts"][number];

function addCell(
  known: Map<string, Waiting>,
  { topic, state, from, count }: Cell,
  range: Range,
  step: number,
) {
  const isWaiting = WAITING.includes(state);
  if (!isWaiting && state !== "running") return;
  const [begin, end] = [Math.max(Date.parse(from), range.from), Math.min(Date.parse(from) + step, range.to)];
  const before = known.get(topic) ?? { waiting: 0, running: 0, from: begin, to: end };
  known.set(topic, {
    waiting: before.waiting + (isWaiting ? count : 0),
    running: before.running + (isWaiting ? 0 : count),
    from: Math.min(before.from, begin),
    to: Math.max(before.to, end),
  });
}

/** What the pass says of a line. `undefined`: the line needs a count of its own. */
export function countedByPass(
  action: Change["action"],
  asked: Asked,
  found: Waiting | undefined,
  { from, to }: Range,
): BulkResult | undefined {
  if (found !== undefined && !isCountedByTopic(action, asked)) return undefined;
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
