import { CLOCK_MARGIN, EVENT_PRECISION, LEAST_RETENTION } from "../../../src/core/constants.ts";
import type { Home } from "../../../src/core/home.ts";
import type { Tombstone } from "../../../src/core/items.ts";
import type { EventRule } from "../../../src/settings/event-rules.ts";
import { ON_ITS_WAY } from "../faults/fate.ts";
import type { Weather } from "../faults.ts";
import type { Bench } from "./bench.ts";

/** An event on the bus, and the rule that its topic applies to it. `at`: when it happened, ms since the epoch. */
export type SentEvent = { id: string; at: number; key: string; rule: EventRule };

export type KeyedJob = {
  filedAt: number;
  createdAt: number;
  /** The time of the latest event that has asked for the job, as its home says; 0 without one. */
  eventAt: number;
  state: Home["state"];
  /** The job runs, and an event has cancelled it: the run may end, but the job must not run again. */
  isAsked: boolean;
  finishedAt: number;
  endedAt: number;
  revivedAt: number;
  /** The time of the latest event that has asked for the job, whatever its home says: the event was applied while the job lived. */
  askedAt: number;
};
/** One invocation of the function with an event. `to`: by then the last of its requests has taken effect, or never will. */
type Invocation = { event: SentEvent; from: number; to: number };
/** An applied cancel. `at`: when its event happened. `reach`: until when it cancels jobs that are filed. `since`: when it was written. */
type Cancel = { id: string; at: number; reach: number; since: number };
export type Key = {
  jobs: Map<string, KeyedJob>;
  invocations: Invocation[];
  cancels: Cancel[];
  /** When a caller last filed a job of the key with `onDuplicate: "keep"`. */
  keptAt: number;
  /** The span of the latest event that cancels: no job of the key may be filed alive in it. */
  inForce: { from: number; until: number } | undefined;
  tombstone: Tombstone | undefined;
};

/** ms after an invocation's end until its requests have taken effect or are too old. After one crash, one may be under way. */
const LANDS_WITHIN: Record<Weather, number> = { calm: 0, "one fault": ON_ITS_WAY, hurt: 360_000 };

/** What happened to all keys. `surely`: ms by which a time must be later than another to be so surely. */
export type Scene = Bench & {
  surely: number;
  landsWithin: number;
  keyOf: (topic: string, key: string) => Key;
  /** The jobs that each event filed, and the events that have filed or kept a job. By the event's id. */
  filedBy: Map<string, Set<string>>;
  seen: Set<string>;
};

export function sceneOf(bench: Bench, weather: Weather): Scene {
  const keys = new Map<string, Key>();
  const keyOf = (topic: string, key: string): Key => {
    const name = `${topic}#${key}`;
    const found = keys.get(name) ?? untouched();
    keys.set(name, found);
    return found;
  };
  const landsWithin = LANDS_WITHIN[weather];
  return { ...bench, surely: 2 * bench.skew, landsWithin, keyOf, filedBy: new Map(), seen: new Set() };
}

function untouched(): Key {
  return {
    jobs: new Map(),
    invocations: [],
    cancels: [],
    keptAt: Number.NEGATIVE_INFINITY,
    inForce: undefined,
    tombstone: undefined,
  };
}

/** The invocations for events that cancel, or for events that file jobs, whose requests may still take effect. */
export function inEffect({ clock }: Scene, { invocations }: Key, what: EventRule["do"]): Invocation[] {
  return invocations.filter(({ event, to }) => event.rule.do === what && to >= clock());
}

export function isLive({ state }: KeyedJob): boolean {
  return state === "scheduled" || state === "running";
}

/** Whether an event of `at` may have found a job: the job was filed by then, and had not ended. */
export function mayBeMet({ surely }: Scene, job: KeyedJob, at: number): boolean {
  return job.createdAt < at + EVENT_PRECISION + surely && (isLive(job) || job.finishedAt >= at - surely);
}

/** Whether an event after `at` asked for a job that existed by then, or one after `reach`, when the cancel applied no more. */
export function isAskedFor(
  { surely }: Scene,
  { createdAt, askedAt }: KeyedJob,
  { at, reach }: Pick<Cancel, "at" | "reach">,
): boolean {
  return askedAt > at - surely && (createdAt <= at + surely || askedAt >= reach - surely);
}

/** Whether a cancel must leave a job alone, because a later event asked for it. The same as `isAskedFor`, but without doubt. */
export function isSpared(
  { surely }: Scene,
  { createdAt, askedAt }: KeyedJob,
  { at, reach }: Pick<Cancel, "at" | "reach">,
): boolean {
  return askedAt > at + surely && (createdAt < at - surely || askedAt > reach + surely);
}

export function laterCancel({ clock, surely }: Scene, { cancels }: Key, at: number): Cancel | undefined {
  return cancels.find((cancel) => cancel.at - surely > at && cancel.since < clock());
}

export function lastTaker(jobs: Iterable<[string, KeyedJob]>): [string, KeyedJob] | undefined {
  return [...jobs].sort(([, a], [, b]) => takenAt(a) - takenAt(b)).at(-1);
}

function takenAt({ filedAt, revivedAt }: KeyedJob): number {
  return Math.max(filedAt, revivedAt);
}

/** The job that had the key before job `id`, if the job's home and key are surely still stored. */
export function lastEnded({ clock }: Scene, { jobs }: Key, id: string): KeyedJob | undefined {
  const [, last] = lastTaker([...jobs].filter(([one]) => one !== id)) ?? [];
  return last && !isLive(last) && last.endedAt > clock() - LEAST_RETENTION / 2 ? last : undefined;
}

export function isEarlier({ surely }: Scene, { at }: Pick<SentEvent, "at">, job: KeyedJob): boolean {
  return at < Math.max(job.askedAt, job.createdAt - CLOCK_MARGIN + surely);
}

/** Whether an event that files a job may keep a live job instead. */
export function mayKeep(scene: Scene, { cancels }: Key, { at, rule }: SentEvent, job: KeyedJob): boolean {
  const isLate = cancels.some((cancel) => cancel.at >= at - scene.surely);
  return isLate || isEarlier(scene, { at }, job) || (rule.do === "enqueue" && rule.onDuplicate === "keep");
}

export function reachOf({ at, rule }: SentEvent): number {
  return at + (rule.do === "cancel" ? rule.tombstone : 0) * 1000;
}
