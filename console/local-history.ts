import type { LogLine } from "../local/log-lines.ts";
import { type History, type HistoryAsked, type HistoryMinute, LATENESS_ENDS, minuteOf } from "./history.ts";

const KEPT_MS = 6 * 60 * 60_000;
/** A handler can log a record with any topic. */
const MOST_TOPICS = 1000;
/** Latenesses are counted in steps of 5 %, so that a minute needs little memory, however many jobs start in it. */
const GROWTH = Math.log(1.05);

type Counted = {
  started: number;
  failed: number;
  dead: number;
  /** How many first attempts were how late, by the step of `GROWTH`. */
  readonly late: Map<number, number>;
  readonly steps: number[];
};

/** By the minute's beginning. */
type Minutes = Map<number, Counted>;

export type LocalHistory = {
  readonly add: (line: LogLine) => void;
  readonly read: (asked: HistoryAsked) => History;
};

/** Counts the job events of the local stack's log. `clock`: the stack's. */
export function createLocalHistory(clock: () => number): LocalHistory {
  let begun: number | undefined;
  const topics = new Map<string, Minutes>();

  function minuteFor(topic: string, at: number): Counted | undefined {
    if (!topics.has(topic) && topics.size === MOST_TOPICS) return undefined;
    const minutes: Minutes = topics.get(topic) ?? new Map();
    topics.set(topic, minutes);
    const start = minuteOf(at);
    const counted = minutes.get(start) ?? emptyMinute();
    minutes.set(start, counted);
    for (const old of minutes.keys()) if (old < start - KEPT_MS) minutes.delete(old);
    return counted;
  }

  return {
    add({ event, topic, at }) {
      // The first line comes when the stack has set its clock.
      begun ??= clock();
      if (event === undefined || topic === undefined || !isCounted(event)) return;
      const counted = minuteFor(topic, at);
      if (counted) count(counted, event);
    },
    read({ hours, topic: only }) {
      const to = clock();
      const from = Math.max(begun ?? to, to - hours * 60 * 60_000);
      const asked = [...topics].filter(([topic]) => only === undefined || topic === only);
      const found = asked.map(([topic, minutes]) => {
        const shown = [...minutes].filter(([at]) => at >= minuteOf(from) && at <= to);
        return { topic, minutes: shown.sort(([a], [b]) => a - b).map(describeMinute) };
      });
      return { from, to, topics: found.filter(({ minutes }) => minutes.length > 0) };
    },
  };
}

type Event = NonNullable<LogLine["event"]>;

/** A retry starts late on purpose, and a run that a throttled target did not start is no attempt. */
function isCounted({ type, attempt, isThrottled }: Event): boolean {
  if (type === "failed") return isThrottled !== true;
  return type === "dead" || (type === "started" && attempt === 1);
}

function count(counted: Counted, { type, lateMs, heldMs }: Event): void {
  if (type === "failed") counted.failed += 1;
  if (type === "dead") counted.dead += 1;
  if (type !== "started") return;
  counted.started += 1;
  const late = Math.max(Number(lateMs) - Number(heldMs ?? 0), 0);
  if (Number.isNaN(late)) return;
  const place = Math.round(Math.log1p(late) / GROWTH);
  counted.late.set(place, (counted.late.get(place) ?? 0) + 1);
  const step = LATENESS_ENDS.findIndex((end) => late <= end);
  const index = step === -1 ? LATENESS_ENDS.length : step;
  counted.steps[index] = (counted.steps[index] ?? 0) + 1;
}

function emptyMinute(): Counted {
  const steps = Array.from({ length: LATENESS_ENDS.length + 1 }, () => 0);
  return { started: 0, failed: 0, dead: 0, late: new Map(), steps };
}

function describeMinute([at, { late, steps, ...counts }]: [number, Counted]): HistoryMinute {
  if (late.size === 0) return { at, ...counts, steps };
  const places = [...late].sort(([a], [b]) => a - b);
  return { at, ...counts, late: { p50: latenessAt(places, 0.5), p99: latenessAt(places, 0.99) }, steps };
}

/** The lateness that a share of the runs does not exceed, ms, exact to 2.5 %. */
function latenessAt(places: readonly (readonly [place: number, runs: number])[], share: number): number {
  let left = Math.ceil(places.reduce((all, [, runs]) => all + runs, 0) * share);
  const place = places.find(([, runs]) => {
    left -= runs;
    return left <= 0;
  })?.[0];
  return Math.round(Math.expm1((place ?? 0) * GROWTH));
}
