import type { Policy, TopicPolicy } from "../../core/policy.ts";
import { type Draws, drawsOf } from "./draws.ts";
import type { Weather } from "./faults.ts";
import { TOPICS, UNTRACKED } from "./topics.ts";
import { wallClockOf } from "./windows.ts";

/**
 * What one topic of a history is told beside its kind, so that each such rule meets each kind of consumer, pauses and
 * limits, without a topic more in every history.
 */
export type Habit = {
  kind: "none" | "events" | "window" | "late" | "spread";
  topic: string;
  policy: Partial<TopicPolicy>;
  /** When its window opens first, if that is open for minutes only, each day: ms since the epoch. */
  opening?: number;
  /** When the history begins, ms since the epoch. */
  start: number;
};

const MINUTE = 60_000;
const KINDS: readonly Habit["kind"][] = [
  "none",
  "none",
  "none",
  "none",
  "events",
  "events",
  "window",
  "window",
  "late",
  "spread",
];
const START = Date.UTC(2026, 2, 1, 9, 0, 0);
/** Where wall clocks are, and two moments shortly before they are put forward and back. */
const PLACES = [
  { zone: "UTC", start: START },
  { zone: "Pacific/Kiritimati", start: START },
  { zone: "Europe/Berlin", start: Date.UTC(2026, 2, 29, 0, 40) },
  { zone: "Europe/Berlin", start: Date.UTC(2026, 9, 25, 0, 40) },
] as const;
/**
 * Minutes that a topic is open each day, where that is not long. What the sweep sends as it opens, the audit finds seven
 * minutes later, if it was lost.
 */
const BRIEF = [5, 50];
/** Seconds. */
const BOUNDS = [1, 10, 60];

/** In some histories one topic has all that users without a rival file, and those who pause. */
export function crowdedTopic(seed: number): string | undefined {
  const draws = drawsOf(seed, "crowd");
  return draws.chance(0.25) ? draws.pick(Object.keys(TOPICS)) : undefined;
}

export function habitOf(seed: number, weather: Weather): Habit {
  const draws = drawsOf(seed, "habit");
  const kind = draws.pick(KINDS);
  const crowded = crowdedTopic(seed);
  const fits = (topic: string): boolean => kind === "window" || kind === "spread" || !UNTRACKED.has(topic);
  const drawn = draws.pick(Object.keys(TOPICS).filter(fits));
  const topic = crowded !== undefined && fits(crowded) ? crowded : drawn;
  const place = draws.pick(PLACES);
  const start = kind === "window" ? place.start : START;
  if (kind !== "window") return { kind, topic, start, policy: policyOf(kind, draws) };
  const brief = drawsOf(seed, "brief");
  const shuts = start + draws.whole(-10, 20) * MINUTE;
  const opens = shuts + draws.whole(5, 25) * MINUTE;
  const windowOf = (from: number, to: number) => {
    const clock = wallClockOf(place.zone);
    return { window: `${clock(from)}-${clock(to)} ${place.zone}` };
  };
  // What misses a brief window waits for the next day.
  if (!brief.chance(0.4) || weather !== "hurt") return { kind, topic, start, policy: windowOf(opens, shuts) };
  const policy = windowOf(shuts, shuts + brief.pick(BRIEF) * MINUTE);
  return { kind, topic, start, opening: shuts, policy };
}

/** How consumers work in one history while things go wrong. */
export type Pace = {
  /** Those who pull take one job at a time, and the next when they are through with it. */
  pullsOne: boolean;
  /** The topic whose function runs once at a time, with a slow handler. */
  slow: string | undefined;
};

/** Slow consumers make jobs late, so that they are there where nobody judges that: where much goes wrong. */
export function paceOf(seed: number, weather: Weather): Pace {
  const draws = drawsOf(seed, "pace");
  const hurt = weather === "hurt";
  const pullsOne = draws.chance(0.25) && hurt;
  const topic = crowdedTopic(seed) ?? draws.pick(Object.keys(TOPICS));
  return { pullsOne, slow: draws.chance(0.2) && hurt ? topic : undefined };
}

/** The topic that is told something, if one is. */
export function toldTopic({ kind, topic }: Habit): string | undefined {
  return kind === "none" ? undefined : topic;
}

/** All topics of a history. */
export function topicsOf({ topic, policy }: Habit): Policy["topics"] {
  return { ...TOPICS, [topic]: { ...TOPICS[topic], ...policy } };
}

function policyOf(kind: Habit["kind"], draws: Draws): Partial<TopicPolicy> {
  if (kind === "events") return { cancelledByEvents: true };
  if (kind === "late") return { ifLate: { after: draws.pick(BOUNDS), do: draws.pick(["skip", "expire"]) } };
  return kind === "spread" ? { spread: draws.pick(BOUNDS) } : {};
}
