import { CLOCK_MARGIN, PAUSE_KNOWN_FOR } from "../../../src/core/constants.ts";

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

/** `claims`: the most ms of a claim. `latestEnd`: ms from its read of the pause to its end of a late job. */
type Settings = { clock: () => number; claims: number; latestEnd: number; mayCrash: boolean };

export function pausesOf({ clock, claims, latestEnd, mayCrash }: Settings) {
  const topics = new Map<string, Told>();
  const told = (topic: string): Told => {
    const found = topics.get(topic) ?? neverPaused();
    topics.set(topic, found);
    return found;
  };
  return {
    pauseAsked: (topic: string): void => notePause(told(topic), clock()),
    /** A pause requested at `askedAt` was acknowledged. It may have been undone by a resume that was requested in the meantime. */
    paused: (topic: string, askedAt: number): void => holdSince(told(topic), askedAt, clock()),
    resumeAsked: (topic: string): void => noteResume(told(topic), clock()),
    /** A resume requested at `askedAt` was acknowledged. `ratePerSecond`: its rate; if absent, the rate of the last resume stays. */
    resumed: (topic: string, askedAt: number, ratePerSecond?: number): void =>
      endResume(told(topic), askedAt, clock(), ratePerSecond),
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
    lastEnd: (topic: string): number => lastEndOf(told(topic), clock(), PAUSE_KNOWN_FOR + latestEnd),
    disturb: (topic: string): boolean => told(topic).disturbed.length > 0,
    /** When a job that would start at `start` must have been released at the latest. */
    freeAt: (topic: string, start: number): number => releaseOf(told(topic), start, mayCrash),
  };
}

function neverPaused(): Told {
  const asked = { pauseAskedAt: 0, resumeAskedAt: 0, resumesUntil: 0, pacedUntil: 0 };
  return { heldFrom: undefined, ...asked, open: [], disturbed: [], held: [] };
}

function notePause(told: Told, now: number): void {
  told.pauseAskedAt = now;
  if (told.disturbed.at(-1)?.to !== Number.POSITIVE_INFINITY) told.disturbed.push({ from: now, ...UNENDED });
}

function holdSince(told: Told, askedAt: number, now: number): void {
  // A resume without an answer may still be on its way, and take effect after the pause.
  if (told.resumeAskedAt < askedAt && told.resumesUntil <= now) told.heldFrom ??= now;
}

function noteResume(told: Told, now: number): void {
  if (told.heldFrom !== undefined) told.held.push({ from: told.heldFrom, to: now });
  told.heldFrom = undefined;
  told.resumeAskedAt = now;
  told.resumesUntil = now + LANDS_WITHIN;
  told.open.push(now);
}

function endResume(told: Told, askedAt: number, now: number, ratePerSecond: number | undefined): void {
  told.open = told.open.filter((other) => other !== askedAt);
  // If a pause was acknowledged while the resume was on its way, either of the two may have taken effect last.
  told.heldFrom = undefined;
  // Another resume may still be on its way.
  told.resumesUntil = Math.max(now, ...told.open.map((other) => other + LANDS_WITHIN));
  const disturbed = told.disturbed.at(-1);
  if (!disturbed) return;
  if (told.pauseAskedAt < askedAt) disturbed.to = now;
  disturbed.ratePerSecond = ratePerSecond ?? disturbed.ratePerSecond;
}

function lastEndOf({ held, heldFrom }: Told, now: number, knownAfter: number): number {
  const spans = [...held, { from: heldFrom ?? now, to: now }];
  return spans.findLast(({ from }) => from + knownAfter < now)?.to ?? Number.NEGATIVE_INFINITY;
}

/**
 * The rate of a resume excuses a wait only as far as other jobs have started since; if ticks and consumers may crash, the whole resume
 * does.
 */
function releaseOf({ disturbed, pacedUntil }: Told, start: number, mayCrash: boolean): number {
  const ends = disturbed.map(({ to, ratePerSecond, runs }) => {
    // The clock of the resume may be ahead.
    const turns = start <= to + CLOCK_MARGIN ? (runs * 1000) / ratePerSecond : 0;
    return to + RELEASED_WITHIN + turns;
  });
  return Math.max(start, ...ends, mayCrash ? pacedUntil : 0);
}
