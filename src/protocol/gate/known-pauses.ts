import { BUCKET, NO_ANSWER_AFTER, PAUSE_KNOWN_FOR } from "../../core/constants.ts";
import { asError } from "../../core/errors.ts";
import { limitedKey, pauseKey } from "../../core/item-keys.ts";
import type { Limited, Pause } from "../../core/items.ts";
import { layoutTrouble } from "../../core/readable.ts";
import { nextOpening } from "../../cron/window.ts";
import type { TopicPolicy } from "../../settings/policy.ts";
import { isLimited, policyOf } from "../policy.ts";
import type { Context, Pool } from "../ports.ts";
import { type Read, readOf } from "../store/read-apart.ts";
import { createSilences } from "../store/silence.ts";

/** What was read last about a topic. `pause` may be of a newer version; `limited`: only if the topic has a limit. */
type Known = {
  pause: Pause | undefined;
  limited: Limited | undefined;
  /** ms since the epoch */
  readAt: number;
};
const known = new WeakMap<Pool, Map<string, Known>>();
type Refresh = { readonly begun: number; readonly end: Promise<void> };
const refreshing = new WeakMap<Pool, Map<string, Refresh>>();
/** Topics whose pauses could not be read while the pauses of others could. */
const silences = createSilences(BUCKET);

/** All jobs that the pause held were sent. From then on its item only says when consumers had followed the resume. */
export function isPauseOver({ expiresAt }: Pause): boolean {
  return expiresAt !== undefined;
}

/** The bound of a pause that holds all jobs of its topic. */
const HOLDS_ALL = Number.POSITIVE_INFINITY;
/** The bound of a pause that holds no job. */
const HOLDS_NONE = Number.NEGATIVE_INFINITY;

/** A topic's settings, and its pause as it was read at most `PAUSE_KNOWN_FOR` ago. */
export type TopicNow = {
  readonly topic: string;
  readonly policy: TopicPolicy;
  /** The pause holds jobs that start before this: ms since the epoch. `HOLDS_ALL` in a pause, the pause's end in a resume at a rate. */
  readonly pauseBound: number;
  readonly isResuming: boolean;
  /** When consumers have followed the topic's last resume, in ms since the epoch. Before that a limit gives no start. */
  readonly followedAt: number;
};

/** Nothing can hold a job of this topic: no pause, no resume, no limit and no window. */
export function isPlain({ policy, pauseBound, isResuming }: TopicNow): boolean {
  const { maxPerSecond, window } = policy;
  return pauseBound === HOLDS_NONE && !isResuming && maxPerSecond === undefined && window === undefined;
}

export function isPaused({ pauseBound }: TopicNow): boolean {
  return pauseBound === HOLDS_ALL;
}

export type TopicsNow = {
  readonly known: ReadonlyMap<string, TopicNow>;
  /** Why topics' pauses or settings cannot be read. These topics may be paused, so none of their jobs may be handed over. */
  readonly unknown: ReadonlyMap<string, unknown>;
};

/**
 * If the pauses cannot be read together, each is read by itself. One that gives no answer is not read for a minute, unless no other one does.
 * Only for callers that have just got an answer from the pool: a pause that is read alone is taken for the trouble.
 */
export async function topicsNow(ctx: Context, topics: readonly string[]): Promise<TopicsNow> {
  const unique = [...new Set(topics)];
  const unknown = new Map<string, unknown>();
  for (const topic of unique) {
    const silence = silences.of(ctx, topic);
    if (silence) unknown.set(topic, silence.error);
  }
  const asked = unique.filter((topic) => !unknown.has(topic));
  try {
    await refreshStale(ctx, asked);
  } catch {
    for (const [topic, error] of await refreshApart(ctx, asked)) unknown.set(topic, error);
  }
  const known = new Map<string, TopicNow>();
  for (const topic of unique) {
    if (unknown.has(topic)) continue;
    try {
      known.set(topic, lastKnown(ctx, topic));
    } catch (error) {
      // One topic's settings may be malformed. Other topics must not wait for that.
      unknown.set(topic, error);
    }
  }
  return { known, unknown };
}

/** @throws if the topic's pause cannot be read */
export async function topicNow(ctx: Context, topic: string): Promise<TopicNow> {
  await refreshStale(ctx, [topic]);
  return lastKnown(ctx, topic);
}

/** As `topicNow`, but reads the pause now in any case. */
export async function topicJustNow(ctx: Context, topic: string): Promise<TopicNow> {
  await refreshPauses(ctx, [topic]);
  return lastKnown(ctx, topic);
}

/** Reads nothing. */
export function lastKnown(ctx: Context, topic: string): TopicNow {
  const pause = known.get(ctx.pool)?.get(topic)?.pause;
  const policy = policyOf(ctx, topic);
  // Only a newer version can read this pause. So it holds all jobs: a wrong hold can be undone, a wrong run cannot.
  if (pause && layoutTrouble(pause) !== undefined)
    return { topic, policy, pauseBound: HOLDS_ALL, isResuming: false, followedAt: HOLDS_NONE };
  return {
    topic,
    policy,
    pauseBound: boundOf(pause),
    isResuming: pause?.state === "resuming" && !isPauseOver(pause),
    followedAt: pause?.followedAt ?? HOLDS_NONE,
  };
}

/** Reads the pauses of these topics that were not read within `PAUSE_KNOWN_FOR`. */
async function refreshStale(ctx: Context, topics: readonly string[]): Promise<void> {
  const cache = known.get(ctx.pool);
  const isFresh = (topic: string): boolean => {
    const readAt = cache?.get(topic)?.readAt;
    return readAt !== undefined && ctx.clock() - readAt < PAUSE_KNOWN_FOR;
  };
  const stale = topics.filter((topic) => !isFresh(topic));
  const [only] = stale;
  // A read of several topics is not shared: it fails if any one of them cannot be read.
  if (stale.length === 1 && only !== undefined) await refreshTogether(ctx, only);
  else await refreshPauses(ctx, stale);
}

/** Answers the errors of the pauses that cannot be read, by topic, and notes the silent ones. */
async function refreshApart(ctx: Context, topics: readonly string[]): Promise<Map<string, unknown>> {
  const begun = ctx.clock();
  const errors = new Map<string, unknown>();
  await Promise.all(
    topics.map((topic) => refreshStale(ctx, [topic]).catch((error: unknown) => errors.set(topic, error))),
  );
  // If none can be read, the whole pool is in trouble, and may answer again at any moment.
  const isOneSilent = topics.length === 1 || errors.size < topics.length;
  if (isOneSilent && ctx.clock() - begun >= NO_ANSWER_AFTER)
    for (const [topic, error] of errors) silences.note(ctx, topic, error);
  return errors;
}

/** Shares the read with callers who ask meanwhile, but for `PAUSE_KNOWN_FOR` at most: the process may have stood still. */
async function refreshTogether(ctx: Context, topic: string): Promise<void> {
  const underWay = refreshing.get(ctx.pool) ?? new Map<string, Refresh>();
  refreshing.set(ctx.pool, underWay);
  const begun = ctx.clock();
  const last = underWay.get(topic);
  if (last && begun - last.begun < PAUSE_KNOWN_FOR) return last.end;
  const own: Refresh = { begun, end: refreshPauses(ctx, [topic]) };
  underWay.set(topic, own);
  try {
    await own.end;
  } finally {
    if (underWay.get(topic) === own) underWay.delete(topic);
  }
}

/** Reads the pauses, and the items `limited` of topics with a limit, and remembers them. */
async function refreshPauses(ctx: Context, topics: readonly string[]): Promise<void> {
  if (topics.length === 0) return;
  // Taken before the read, because a pause may change during it.
  const readAt = ctx.clock();
  const limited = topics.filter((topic) => isLimited(ctx, topic));
  const found = await ctx.pool.read([...topics.map(pauseKey), ...limited.map(limitedKey)]);
  const pauses = found.slice(0, topics.length).map((item) => item as Pause | undefined);
  const limits = new Map(limited.map((topic, i) => [topic, found[topics.length + i] as Limited | undefined]));
  const cache = known.get(ctx.pool) ?? new Map<string, Known>();
  known.set(ctx.pool, cache);
  for (const [i, topic] of topics.entries())
    cache.set(topic, { pause: pauses[i], limited: limits.get(topic), readAt });
}

function boundOf(pause: Pause | undefined): number {
  if (pause && isPauseOver(pause)) return HOLDS_NONE;
  if (pause?.state === "paused") return HOLDS_ALL;
  return pause?.rate === undefined ? HOLDS_NONE : pause.changedAt;
}

/** The item `limited` of a topic that has a limit, as it was read at most `PAUSE_KNOWN_FOR` ago. */
export async function knownLimited(ctx: Context, topic: string): Promise<Limited | undefined> {
  await refreshStale(ctx, [topic]);
  return known.get(ctx.pool)?.get(topic)?.limited;
}

/** As `knownLimited`, but reads the item now in any case. */
export async function limitedNow(ctx: Context, topic: string): Promise<Limited | undefined> {
  await refreshPauses(ctx, [topic]);
  return knownLimited(ctx, topic);
}

/**
 * Since when a job is late: since its last start, ms since the epoch. Two more moments are such starts: when consumers followed the last resume,
 * because the message may have waited in its queue, and when the window opened, because no tick may have come before.
 */
export function lateSince({ policy, followedAt }: TopicNow, start: number): number {
  const since = Math.max(start, followedAt);
  return policy.window === undefined ? since : nextOpening(policy.window, since);
}

/** The next caller reads the topic's pause and item `limited` again. Callers that have read them go on with their values. */
export function expireKnownPause(ctx: Context, topic: string): void {
  refreshing.get(ctx.pool)?.delete(topic);
  const cache = known.get(ctx.pool);
  const last = cache?.get(topic);
  if (last) cache?.set(topic, { ...last, readAt: Number.NEGATIVE_INFINITY });
}

/** Reads pauses from the pool. `undefined`: the topic has none, or it is over, or a newer version wrote it, which is reported. */
export async function readPauses(ctx: Context, topics: readonly string[]): Promise<(Pause | undefined)[]> {
  const pauses = (await ctx.pool.read(topics.map(pauseKey))) as (Pause | undefined)[];
  return pauses.map((pause, i) => {
    const error = pause && layoutTrouble(pause);
    if (error !== undefined)
      ctx.report({ type: "trouble", topic: topics[i] ?? "", what: "reading a pause", error });
    return pause && error === undefined && !isPauseOver(pause) ? pause : undefined;
  });
}

/** As `readPauses`, but if they cannot be read together, reads each by itself. */
export async function readPausesApart(ctx: Context, topics: readonly string[]): Promise<Read<Pause>[]> {
  try {
    return (await readPauses(ctx, topics)).map(readOf);
  } catch {
    return Promise.all(
      topics.map(async (topic): Promise<Read<Pause>> => {
        try {
          return readOf((await readPauses(ctx, [topic]))[0]);
        } catch (error) {
          return { is: "unknown", error: asError(error) };
        }
      }),
    );
  }
}
