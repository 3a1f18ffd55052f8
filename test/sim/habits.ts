import type { Policy, TopicPolicy } from "../../src/settings/policy.ts";
import { type Draws, drawsOf } from "./draws.ts";
import type { Weather } from "./faults.ts";
import { TOPICS, UNTRACKED } from "./topics.ts";
import { wallClockOf } from "./witness/windows.ts";

/** One topic's additional setting. So histories try it with each kind of consumer, with pauses and with limits, without more topics. */
export type Habit = {
  kind: "none" | "events" | "window" | "late" | "spread";
  topic: string;
  policy: Partial<TopicPolicy>;
  /** When its window opens first, if the window is open for only some minutes a day. ms since the epoch. */
  opening?: number;
  start: number;
  /** Whether jobs of the pull topic `work` start on the millisecond. */
  pullsOnTime?: boolean;
  /** A topic that takes only so many jobs in a minute. */
  filing?: { topic: string; most: number } | undefined;
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
/** Time zones of windows. Two histories of Berlin begin shortly before its clocks are put forward or back. */
const PLACES = [
  { zone: "UTC", start: START },
  { zone: "Pacific/Kiritimati", start: START },
  { zone: "Europe/Berlin", start: Date.UTC(2026, 2, 29, 0, 40) },
  { zone: "Europe/Berlin", start: Date.UTC(2026, 9, 25, 0, 40) },
] as const;
/** Minutes a day. The audit notices a lost message of the opening after seven: after the shorter window, within the longer. */
const BRIEF = [5, 50];
const BOUNDS = [1, 10, 60];

/** In some histories one topic gets all jobs of the users who do not compete for one key, and all pauses. */
export function crowdedTopic(seed: number): string | undefined {
  const draws = drawsOf(seed, "crowd");
  return draws.chance(0.25) ? draws.pick(Object.keys(TOPICS)) : undefined;
}

export function habitOf(seed: number, weather: Weather): Habit {
  const draws = drawsOf(seed, "habit");
  const kind = draws.pick(KINDS);
  const crowded = crowdedTopic(seed);
  const fits = (topic: string): boolean => kind === "spread" || !UNTRACKED.has(topic);
  const drawn = draws.pick(Object.keys(TOPICS).filter(fits));
  const topic = crowded !== undefined && fits(crowded) ? crowded : drawn;
  const place = draws.pick(PLACES);
  const start = kind === "window" ? place.start : START;
  // One call then pulls one job, unless it is late already. So a burst is late, which only `hurt` weather allows.
  const pullsOnTime = weather === "hurt" && drawsOf(seed, "pulls on time").chance(0.3);
  const filing = filingOf(seed);
  if (kind !== "window") return { kind, topic, start, pullsOnTime, filing, policy: policyOf(kind, draws) };
  const brief = drawsOf(seed, "brief");
  const shuts = start + draws.whole(-10, 20) * MINUTE;
  const opens = shuts + draws.whole(5, 25) * MINUTE;
  const windowOf = (from: number, to: number) => {
    const clock = wallClockOf(place.zone);
    return { window: `${clock(from)}-${clock(to)} ${place.zone}` };
  };
  // A job that misses a short window waits until the next day, which only `hurt` weather allows.
  if (!brief.chance(0.4) || weather !== "hurt")
    return { kind, topic, start, pullsOnTime, filing, policy: windowOf(opens, shuts) };
  const policy = windowOf(shuts, shuts + brief.pick(BRIEF) * MINUTE);
  return { kind, topic, start, pullsOnTime, filing, opening: shuts, policy };
}

/** The epilogue files two jobs of each topic in one minute. */
const FILED = [2, 3, 10];

function filingOf(seed: number): Habit["filing"] {
  const draws = drawsOf(seed, "filing");
  const tracked = Object.keys(TOPICS).filter((topic) => !UNTRACKED.has(topic));
  const crowded = crowdedTopic(seed) ?? "";
  const topic = tracked.includes(crowded) ? crowded : draws.pick(tracked);
  return draws.chance(0.2) ? { topic, most: draws.pick(FILED) } : undefined;
}

export type Pace = {
  /** Pullers take one job at a time, and the next one when they have finished it. */
  pullsOne: boolean;
  /** The topic whose function has one invocation at a time, with a slow handler. */
  slow: string | undefined;
};

/** Slow consumers make jobs late, so only `hurt` weather has them: there the witness does not judge lateness. */
export function paceOf(seed: number, weather: Weather): Pace {
  const draws = drawsOf(seed, "pace");
  const hurt = weather === "hurt";
  const pullsOne = draws.chance(0.25) && hurt;
  const topic = crowdedTopic(seed) ?? draws.pick(Object.keys(TOPICS));
  return { pullsOne, slow: draws.chance(0.2) && hurt ? topic : undefined };
}

export function toldTopic({ kind, topic }: Habit): string | undefined {
  return kind === "none" ? undefined : topic;
}

export function topicsOf({ topic, policy, pullsOnTime, filing }: Habit): Policy["topics"] {
  const usual = pullsOnTime
    ? { ...TOPICS, work: { ...TOPICS.work, precision: "millisecond" } as const }
    : TOPICS;
  const topics = { ...usual, [topic]: { ...usual[topic], ...policy } };
  if (!filing) return topics;
  return { ...topics, [filing.topic]: { ...topics[filing.topic], maxFiledPerMinute: filing.most } };
}

function policyOf(kind: Habit["kind"], draws: Draws): Partial<TopicPolicy> {
  if (kind === "events") return { cancelledByEvents: true };
  if (kind === "late") return { ifLate: { after: draws.pick(BOUNDS), do: draws.pick(["skip", "expire"]) } };
  return kind === "spread" ? { spread: draws.pick(BOUNDS) } : {};
}
