/** What the runs of each topic were like, minute by minute. The server of the console answers it, and the page draws it. */

export const HISTORY_MINUTE = 60_000;
/** The most hours that a page may ask for. */
const MOST_HOURS = 24;
const USUAL_HOURS = 3;

/**
 * The upper ends of the steps into which latenesses are counted, ms. A lateness that is equal to an end belongs to the step that it ends. A last
 * step has no end.
 */
export const LATENESS_ENDS = [100, 250, 500, 1000, 2000, 5000, 15_000, 60_000, 300_000] as const;

/** A minute in which something happened. */
export type HistoryMinute = {
  /** The beginning, ms since the epoch. */
  readonly at: number;
  /** How many jobs began their first attempt. */
  readonly started: number;
  /** How many attempts failed and are followed by a retry. */
  readonly failed: number;
  readonly dead: number;
  /** How late first attempts started, ms, without a wait for a pause, a limit or a window. Absent if none started. */
  readonly late?: { readonly p50: number; readonly p99: number };
  /** How many first attempts were late by how much, by the steps of `LATENESS_ENDS`. Always there if the page asked for one topic. */
  readonly steps?: readonly number[];
};

/** What the server may not know of a topic. `started`: then it knows nothing of the topic. */
export type HistoryPart = "started" | "failed" | "dead" | "steps";

/** `why`: a part of a sentence that says why the server does not know these. In the minutes they are 0. */
export type Unknown = { readonly parts: readonly HistoryPart[]; readonly why: string };

export type TopicHistory = {
  readonly topic: string;
  /** In the order of their times. A minute without events is absent. */
  readonly minutes: readonly HistoryMinute[];
  /** Absent: the server knows everything. */
  readonly unknown?: Unknown;
};

export type History = {
  /** From when on the server knows what happened, ms since the epoch. */
  readonly from: number;
  /** The server's present time on the queue's clock, ms since the epoch. */
  readonly to: number;
  /** Those of which the server knows something, or knows why not. */
  readonly topics: readonly TopicHistory[];
};

/** `why`: a sentence that says why the server knows no history. */
export type HistoryAnswer = History | { readonly why: string };

/** `topic`: only this one, with its steps. */
export type HistoryAsked = { readonly hours: number; readonly topic?: string };

export type ReadHistory = (asked: HistoryAsked) => Promise<HistoryAnswer>;

export function historyAsked(url = ""): HistoryAsked {
  const { searchParams } = new URL(url, "http://localhost");
  const [asked, topic] = [Number(searchParams.get("hours")), searchParams.get("topic")];
  const hours = asked >= 1 ? Math.min(Math.ceil(asked), MOST_HOURS) : USUAL_HOURS;
  return { hours, ...(topic && { topic }) };
}

export function minuteOf(at: number): number {
  return at - (at % HISTORY_MINUTE);
}
