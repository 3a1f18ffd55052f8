import { CLOCK_MARGIN, PAUSE_KNOWN_FOR } from "../../../core/constants.ts";

/** What the witness knows of one topic's pauses, from calls and their answers. Times are ms since the epoch. */
type Told = {
  /** Since when no job may start: since then a pause is acknowledged, and no resume has been requested. */
  heldFrom: number | undefined;
  pauseAskedAt: number;
  resumeAskedAt: number;
  /** Until when a resume that was not answered with 200 may still take effect. */
  resumesUntil: number;
  open: number[];
  /** Spans in which jobs may be late. The open span has an infinite `to`. `runs`: starts of the topic's jobs since `to`. */
  disturbed: { from: number; to: number; ratePerSecond: number; runs: number }[];
  /** Until when a resume at a rate has surely lasted. */
  pacedUntil: number;
  /** Past spans in which no job could start. The present one, since `heldFrom`, is not among them. */
  held: { from: number; to: number }[];
};

/** Within this time, a request that the API's function gave up takes effect, or is refused as too old. ms. */
const LANDS_WITHIN = 29_000 + 300_000;
/** A minute each: until Lambda has carried out an earlier request, until a tick repeats this one, and until Lambda polls. ms. */
const RELEASED_WITHIN = 190_000;

const UNENDED = { to: Number.POSITIVE_INFINITY, ratePerSecond: Number.POSITIVE_INFINITY, runs: 0 };

/** Knows when topics are paused. `claims`: the most ms of a claim. `latestEnd`: ms from its read of the pause to its end of a late job. */
export function pausesOf({
  clock,
  claims,
  latestEnd,
  mayCrash,
}: {
  clock: () => number;
  claims: number;
  latestEnd: number;
  mayCrash: boolean;
}) {
  const topics = new Map<string, Told>();
  const told = (topic: string): Told => {
    const asked = { pauseAskedAt: 0, resumeAskedAt: 0, resumesUntil: 0, pacedUntil: 0 };
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
    /** A pause requested at `askedAt` was acknowledged. It may have been undone by a resume that was requested in the meantime. */
    paused(topic: string, askedAt: number): void {
      const found = told(topic);
      // A resume without an answer may still be on its way, and take effect after the pause.
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
    /** A resume requested at `askedAt` was acknowledged. `ratePerSecond`: its rate; if absent, the rate of the last resume stays. */
    resumed(topic: string, askedAt: number, ratePerSecond?: number): void {
      const found = told(topic);
      found.open = found.open.filter((other) => other !== askedAt);
      // If a pause was acknowledged while the resume was on its way, either of the two may have taken effect last.
      found.heldFrom = undefined;
      // Another resume may still be on its way.
      const last = Math.max(...found.open.map((other) => other + LANDS_WITHIN));
      found.resumesUntil = Math.max(clock(), last);
      const disturbed = found.disturbed.at(-1);
      if (!disturbed) return;
      if (found.pauseAskedAt < askedAt) disturbed.to = clock();
      disturbed.ratePerSecond = ratePerSecond ?? disturbed.ratePerSecond;
    },
    started(topic: string): void {
      for (const span of told(topic).disturbed) if (span.to <= clock()) span.runs += 1;
    },
    paced(topic: string): void {
      told(topic).pacedUntil = clock();
    },

    /** For a run that starts now although its topic is paused: how many ms after the last allowed moment it starts, if it does. */
    tooLate(topic: string): number | undefined {
      const { heldFrom } = told(topic);
      if (heldFrom === undefined) return undefined;
      const late = clock() - (heldFrom + PAUSE_KNOWN_FOR + claims);
      return late > 0 ? late : undefined;
    },

    /** When the last pause that all consumers know of ended; now, if it lasts. Before that, the topic's jobs were not late. */
    lastEnd(topic: string): number {
      const { held, heldFrom = clock() } = told(topic);
      const spans = [...held, { from: heldFrom, to: clock() }];
      const isKnown = ({ from }: { from: number }) => from + PAUSE_KNOWN_FOR + latestEnd < clock();
      return spans.findLast(isKnown)?.to ?? Number.NEGATIVE_INFINITY;
    },

    /** Whether anybody has ever asked for a pause of this topic. */
    disturb: (topic: string): boolean => told(topic).disturbed.length > 0,

    /**
     * When a job that would start at `start` must have been released at the latest. The rate of a resume excuses a wait only as far as
     * other jobs have started since. If ticks and consumers may crash, they release and start no jobs: then the whole resume excuses the
     * wait.
     */
    freeAt(topic: string, start: number): number {
      const { disturbed, pacedUntil } = told(topic);
      const ends = disturbed.map(({ to, ratePerSecond, runs }) => {
        // The clock of the resume may be ahead.
        const turns = start <= to + CLOCK_MARGIN ? (runs * 1000) / ratePerSecond : 0;
        return to + RELEASED_WITHIN + turns;
      });
      return Math.max(start, ...ends, mayCrash ? pacedUntil : 0);
    },
  };
}
