import { NEAR, PAUSE_KNOWN_FOR } from "../../core/constants.ts";

/** What users were told of one topic's pauses. Times are ms since the epoch. */
type Told = {
  /** From when on nothing starts: a pause was acknowledged and nobody has asked for a resume since. */
  heldFrom: number | undefined;
  pauseAskedAt: number;
  resumeAskedAt: number;
  /** Until when a resume that got no clean answer may still take effect. */
  resumesUntil: number;
  /** When each resume was asked for that has no answer. */
  open: number[];
  /** Spans in which jobs may be late, the open one's end being infinite. `runs`: starts of its jobs since `to`. */
  disturbed: { from: number; to: number; ratePerSecond: number; runs: number }[];
  /** Spans in which nothing could start, the open one left out. */
  held: { from: number; to: number }[];
};

/** Till a request of the API's function that was given up lands or is refused for its age. ms. */
const LANDS_WITHIN = 29_000 + 300_000;
/** Lambda's own minute, and when its wish was refused at first as it followed an earlier one, that's minute and a tick's. ms. */
const RELEASED_WITHIN = 190_000;
/** How long Lambda may go on polling, and then its last invocation. ms. */
const POLLED_FOR = 60_000 + 60_000;
/** How long Lambda may be at work on a wish: it refuses another meanwhile, which the next tick repeats. ms. */
const WISH_LASTS = 60_000;
const NEXT_TICK = 61_000;

const UNENDED = { to: Number.POSITIVE_INFINITY, ratePerSecond: Number.POSITIVE_INFINITY, runs: 0 };

/** Of each topic: when it was held, and since when its jobs may go. `claims`: ms that a claim takes at most. */
export function pausesOf({ clock, skew, claims }: { clock: () => number; skew: number; claims: number }) {
  const topics = new Map<string, Told>();
  const told = (topic: string): Told => {
    const asked = { pauseAskedAt: 0, resumeAskedAt: 0, resumesUntil: 0 };
    const found = topics.get(topic) ?? { heldFrom: undefined, ...asked, open: [], disturbed: [], held: [] };
    topics.set(topic, found);
    return found;
  };
  return {
    pauseAsked(topic: string): void {
      const found = told(topic);
      const { disturbed } = found;
      found.pauseAskedAt = clock();
      if (disturbed.at(-1)?.to !== Number.POSITIVE_INFINITY) disturbed.push({ from: clock(), ...UNENDED });
    },
    /** A call of `askedAt` was answered; who asked otherwise meanwhile may have had the last word. */
    paused(topic: string, askedAt: number): void {
      const found = told(topic);
      // A resume without an answer may still be on its way, and have the last word.
      if (found.resumeAskedAt < askedAt && found.resumesUntil <= clock()) found.heldFrom ??= clock();
    },
    resumeAsked(topic: string): void {
      const found = told(topic);
      if (found.heldFrom !== undefined) found.held.push({ from: found.heldFrom, to: clock() });
      found.heldFrom = undefined;
      found.resumeAskedAt = clock();
      found.resumesUntil = clock() + LANDS_WITHIN;
      found.open.push(clock());
    },
    /** `ratePerSecond`: at which the topic is resumed now; without it as before. */
    resumed(topic: string, askedAt: number, ratePerSecond?: number): void {
      const found = told(topic);
      found.open = found.open.filter((other) => other !== askedAt);
      // It was on its way as a pause was acknowledged, and either may have had the last word.
      found.heldFrom = undefined;
      // Another one may be on its way still.
      const last = Math.max(...found.open.map((other) => other + LANDS_WITHIN));
      found.resumesUntil = Math.max(clock(), last);
      const disturbed = found.disturbed.at(-1);
      if (!disturbed) return;
      if (found.pauseAskedAt < askedAt) disturbed.to = clock();
      disturbed.ratePerSecond = ratePerSecond ?? disturbed.ratePerSecond;
    },
    /** A job of the topic starts. */
    started(topic: string): void {
      for (const span of told(topic).disturbed) if (span.to <= clock()) span.runs += 1;
    },

    /** ms that a run which starts now starts too late after its topic was paused, if it does. */
    tooLate(topic: string, polled: boolean): number | undefined {
      const { heldFrom, resumeAskedAt } = told(topic);
      if (heldFrom === undefined) return undefined;
      const refusedFor = heldFrom < resumeAskedAt + WISH_LASTS ? WISH_LASTS + NEXT_TICK : 0;
      const late = clock() - (heldFrom + (polled ? POLLED_FOR + refusedFor : PAUSE_KNOWN_FOR + claims));
      return late > 0 ? late : undefined;
    },

    /** ms from `start` to `end` that pauses took, at the least. */
    heldFor(topic: string, start: number, end = clock()): number {
      const { held, heldFrom = clock() } = told(topic);
      const spans = [...held, { from: heldFrom, to: clock() }];
      // Each end is by the clock of whoever wrote it.
      const least = spans.map(({ from, to }) => Math.min(to, end) - Math.max(from, start) - 2 * skew);
      return least.reduce((sum, ms) => sum + Math.max(ms, 0), 0);
    },

    /** Whether anybody has ever asked for a pause of this topic. */
    disturb: (topic: string): boolean => told(topic).disturbed.length > 0,

    /**
     * When at the latest a job that may start at `start` is let go, for all its topic's pauses. Waiting for the rate of a
     * resume is excused by those alone that have started since.
     */
    freeAt(topic: string, start: number): number {
      const ends = told(topic).disturbed.map(({ to, ratePerSecond, runs }) => {
        // What was near was parked with the late, and is let go in its turn.
        const turns = start <= to + NEAR ? (runs * 1000) / ratePerSecond : 0;
        return to + RELEASED_WITHIN + turns;
      });
      return Math.max(start, ...ends);
    },
  };
}
