import { LATE_AFTER } from "../../src/core/constants.ts";
import type { History, HistoryMinute, Unknown } from "../history.ts";
import { durationText, HOUR, MINUTE } from "./times.ts";

/** What happened to a topic's jobs in some minutes. */
export type Span = {
  readonly started: number;
  readonly failed: number;
  readonly dead: number;
  /** ms. `p50`: about. `p99`: that of the worst minute, so 99 % of the jobs of the span were at most as late. Absent if no job started. */
  readonly late?: { readonly p50: number; readonly p99: number };
};

/** How long "now" is, ms. One minute of a quiet topic would say nothing. */
export const NOW_MS = 10 * MINUTE;

export function minutesOf(history: History, topic: string): readonly HistoryMinute[] {
  return history.topics.find((one) => one.topic === topic)?.minutes ?? [];
}

/** What the server does not know of a topic. */
export function unknownOf(history: History, topic: string): Unknown {
  return history.topics.find((one) => one.topic === topic)?.unknown ?? { parts: [], why: "" };
}

/** A count of a minute or a span, or that it is not known. */
export function countText(count: number, part: "failed" | "dead", { parts }: Unknown): string {
  return parts.includes(part) ? "unknown" : count.toLocaleString("en");
}

/** From `from` until before `to`. */
export function spanOf(minutes: readonly HistoryMinute[], from: number, to: number): Span {
  const own = minutes.filter(({ at }) => at >= from && at < to);
  const sum = (of: (minute: HistoryMinute) => number) => own.reduce((all, minute) => all + of(minute), 0);
  const counts = {
    started: sum(({ started }) => started),
    failed: sum(({ failed }) => failed),
    dead: sum(({ dead }) => dead),
  };
  const waits = own.flatMap(({ late, started }) => (late ? [{ ...late, started }] : []));
  if (waits.length === 0) return counts;
  return { ...counts, late: { p50: medianOf(waits), p99: Math.max(...waits.map(({ p99 }) => p99)) } };
}

/** The median of the minutes' medians. A minute counts as often as jobs started in it. */
function medianOf(waits: readonly { readonly p50: number; readonly started: number }[]): number {
  const sorted = waits.toSorted((a, b) => a.p50 - b.p50);
  let left = sorted.reduce((all, { started }) => all + started, 0) / 2;
  const middle = sorted.find(({ started }) => {
    left -= started;
    return left <= 0;
  });
  return middle?.p50 ?? 0;
}

/** `steps` equal parts of the last `hours`, the last one until now. */
export function spansOf(
  minutes: readonly HistoryMinute[],
  { to }: Pick<History, "to">,
  hours: number,
  steps: number,
): Span[] {
  const length = (hours * HOUR) / steps;
  const end = to - (to % MINUTE) + MINUTE;
  return Array.from({ length: steps }, (_, place) => {
    const from = end - (steps - place) * length;
    return spanOf(minutes, from, from + length);
  });
}

export type Compared = {
  /** The last `NOW_MS`. */
  readonly now: Span;
  /** As long a time, which ended an hour ago. `undefined`: nobody knows. */
  readonly before: Span | undefined;
};

export function compare(history: Pick<History, "from" | "to">, minutes: readonly HistoryMinute[]): Compared {
  const { from, to } = history;
  const begin = to - (to % MINUTE) - NOW_MS;
  const before = from < to - HOUR ? spanOf(minutes, begin - HOUR, to - HOUR) : undefined;
  return { now: spanOf(minutes, begin, to + 1), before };
}

const FEW_STARTS = 20;
/** A change of the median that nobody takes for chance. */
const MUCH_LATER = 10;

/** Whether half of a topic's jobs start late now, and an hour ago they did not. A few slow starts do not suffice. */
export function startsMuchLater({ now, before }: Compared): boolean {
  const [late = 0, earlier = Infinity] = [now.late?.p50, before?.late?.p50];
  return now.started >= FEW_STARTS && late > LATE_AFTER && late >= MUCH_LATER * earlier;
}

export type Trend = { readonly direction: "up" | "down" | "same"; readonly times: number };

/** A factor that a person would not notice, and a difference that nobody minds, ms. */
const NOTICED = 1.5;
const MINDED = 200;

/** How the lateness of the slowest jobs has changed within the hour. `undefined`: one of the two is not known. */
export function trendOf({ now, before }: Compared): Trend | undefined {
  if (!now.late || !before?.late) return undefined;
  const [a, b] = [before.late.p99, now.late.p99];
  // Below 10 ms a factor says nothing.
  const times = Math.max(b, 10) / Math.max(a, 10);
  if (Math.abs(a - b) < MINDED || (times < NOTICED && times > 1 / NOTICED))
    return { direction: "same", times };
  return { direction: times > 1 ? "up" : "down", times };
}

/** How late the slowest jobs are, compared with an hour ago. */
export function trendText({ direction, times }: Trend): string {
  if (direction === "same") return "about as late";
  return direction === "up"
    ? `${factorText(times)} times as late`
    : `${factorText(1 / times)} times less late`;
}

export function factorText(times: number): string {
  return times < 10 ? String(Number(times.toFixed(1))) : Math.round(times).toLocaleString("en");
}

export function lateText({ p50, p99 }: NonNullable<Span["late"]>): string {
  return `half of them within ${durationText(p50)} and 99 % within ${durationText(p99)}`;
}
