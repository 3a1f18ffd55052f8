import { BUCKET, NO_ANSWER_AFTER, PAUSE_KNOWN_FOR } from "../../core/constants.ts";
import { asError } from "../../core/errors.ts";
import { type Limited, limitedKey, type Pause, pauseKey } from "../../core/items.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import { layoutTrouble } from "../../core/readable.ts";
import { nextOpening } from "../../cron/window.ts";
import { isLimited, policyOf } from "../policy.ts";
import type { Context, Pool } from "../ports.ts";
import { type Read, readOf } from "../store/read-apart.ts";
import { createSilences } from "../store/silence.ts";

/** What this process has read last about a topic. `pause` may be of a newer version; `limited`: only if the topic has a limit. */
type Known = {
  pause: Pause | undefined;
  limited: Limited | undefined;
  /** ms since the epoch */
  readAt: number;
};
const known = new WeakMap<Pool, Map<string, Known>>();
type Refresh = { readonly begun: number; readonly end: Promise<void> };
/** The reads of one topic's pause that are under way, by topic. */
const refreshing = new WeakMap<Pool, Map<string, Refresh>>();
/** Topics whose pauses could not be read while the pauses of others could. */
const silences = createSilences(BUCKET);

/** Says whether a pause is over: all jobs that it held were sent. From then on its item only says when consumers had followed the resume. */
export function isPauseOver({ expiresAt }: Pause): boolean {
  return expiresAt !== undefined;
}

/** The bound of a pause that holds all jobs of its topic. */
export const HOLDS_ALL = Number.POSITIVE_INFINITY;
/** The bound of a pause that holds no job. */
const HOLDS_NONE = Number.NEGATIVE_INFINITY;

/**
 * Answers for each of these topics a time (ms since the epoch): its pause holds the jobs that start before it. This is `HOLDS_ALL` in a
 * pause, and the end of the pause in a resume at a rate. A pause that was read at most `PAUSE_KNOWN_FOR` ago is not read again.
 */
export async function pauseBounds(ctx: Context, topics: readonly string[]): Promise<Map<string, number>> {
  const cache = known.get(ctx.pool);
  const isFresh = (topic: string): boolean => {
    const readAt = cache?.get(topic)?.readAt;
    return readAt !== undefined && ctx.clock() - readAt < PAUSE_KNOWN_FOR;
  };
  const unique = [...new Set(topics)];
  const stale = unique.filter((topic) => !isFresh(topic));
  const [only] = stale;
  // A read of several topics is not shared: it fails if any one of them cannot be read.
  if (stale.length === 1 && only !== undefined) await refreshTogether(ctx, only);
  else await refreshPauses(ctx, stale);
  return new Map(unique.map((topic) => [topic, boundOf(known.get(ctx.pool)?.get(topic)?.pause)]));
}

/** Answers the time before which one topic's pause holds jobs, as `pauseBounds`. */
export async function pauseBound(ctx: Context, topic: string): Promise<number> {
  return (await pauseBounds(ctx, [topic])).get(topic) ?? HOLDS_NONE;
}

/** Answers as `pauseBounds`, but reads the pauses now in any case. */
export async function pauseBoundsNow(ctx: Context, topics: readonly string[]): Promise<Map<string, number>> {
  await refreshPauses(ctx, topics);
  return pauseBounds(ctx, topics);
}

/** Says whether a pause holds all jobs of a topic, as it was read at most `PAUSE_KNOWN_FOR` ago. */
export async function isPaused(ctx: Context, topic: string): Promise<boolean> {
  return (await pauseBound(ctx, topic)) === HOLDS_ALL;
}

/**
 * Reads one topic's pause, and shares the read with callers who ask meanwhile: a batch may make hundreds of calls at the same time. A read
 * that was begun `PAUSE_KNOWN_FOR` ago or earlier is not shared, because the process may have stood still since.
 */
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

/** Reads the pauses of these topics, and the item `limited` of topics with a limit, and remembers them. */
async function refreshPauses(ctx: Context, topics: readonly string[]): Promise<void> {
  if (topics.length === 0) return;
  // The time is taken before the read, because a pause may change during the read.
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

/** Answers a topic's pause as it was read last, unless a newer version wrote it. */
function knownPause(ctx: Context, topic: string): Pause | undefined {
  const pause = known.get(ctx.pool)?.get(topic)?.pause;
  return pause && layoutTrouble(pause) === undefined ? pause : undefined;
}

function boundOf(pause: Pause | undefined): number {
  // Only a newer version knows what this pause says. So the pause holds all jobs: a wrong hold can be undone, a wrong run cannot.
  if (pause && layoutTrouble(pause) !== undefined) return HOLDS_ALL;
  if (pause && isPauseOver(pause)) return HOLDS_NONE;
  if (pause?.state === "paused") return HOLDS_ALL;
  return pause?.rate === undefined ? HOLDS_NONE : pause.changedAt;
}

/**
 * Answers which of these topics' pauses cannot be read, each with the error. Such a topic may be paused, so none of its jobs may be
 * handed over. If the pauses cannot be read together, each is read by itself. A pause that gives no answer is not read for a minute, unless
 * no other one does. Only for callers that have just got an answer from the pool: a pause that is read alone is taken for the trouble.
 */
export async function unknownPauses(ctx: Context, topics: readonly string[]): Promise<Map<string, unknown>> {
  const unknown = new Map<string, unknown>();
  for (const topic of topics) {
    const silence = silences.of(ctx, topic);
    if (silence) unknown.set(topic, silence.error);
  }
  const asked = [...new Set(topics)].filter((topic) => !unknown.has(topic));
  try {
    await pauseBounds(ctx, asked);
    return unknown;
  } catch {
    // The separate reads below say which pause cannot be read.
  }
  const begun = ctx.clock();
  const errors = new Map<string, unknown>();
  await Promise.all(
    asked.map((topic) => pauseBound(ctx, topic).catch((error: unknown) => errors.set(topic, error))),
  );
  // If none of several pauses can be read, the whole pool is in trouble, and may answer again at any moment.
  const isOneSilent = asked.length === 1 || errors.size < asked.length;
  const isSilence = isOneSilent && ctx.clock() - begun >= NO_ANSWER_AFTER;
  for (const [topic, error] of errors) {
    unknown.set(topic, error);
    if (isSilence) silences.note(ctx, topic, error);
  }
  return unknown;
}

/** Answers the item `limited` of a topic that has a limit, as it was read at most `PAUSE_KNOWN_FOR` ago. */
export async function knownLimited(ctx: Context, topic: string): Promise<Limited | undefined> {
  await pauseBounds(ctx, [topic]);
  return known.get(ctx.pool)?.get(topic)?.limited;
}

/** Answers as `knownLimited`, but reads the item now in any case. */
export async function limitedNow(ctx: Context, topic: string): Promise<Limited | undefined> {
  await refreshPauses(ctx, [topic]);
  return knownLimited(ctx, topic);
}

/** Says whether a topic is being resumed, as its pause was read at most `PAUSE_KNOWN_FOR` ago. */
export async function isResuming(ctx: Context, topic: string): Promise<boolean> {
  await pauseBounds(ctx, [topic]);
  const pause = knownPause(ctx, topic);
  return pause?.state === "resuming" && !isPauseOver(pause);
}

/** Answers when consumers have followed the topic's last resume, in ms since the epoch: before that a limit gives no start. */
export async function knownFollowedAt(ctx: Context, topic: string): Promise<number> {
  await pauseBounds(ctx, [topic]);
  return knownPause(ctx, topic)?.followedAt ?? HOLDS_NONE;
}

/**
 * Answers since when the job of a message is late, in ms since the epoch: since the last start that the queue gave the job. Two moments
 * are such starts too: when consumers followed the last resume, because the message may have waited in its queue, and when the window
 * opened, because no tick may have come before. Reads nothing: a claim has just read the pause.
 */
export function lateSince(ctx: Context, topic: string, job: MessageJob): number {
  const { window } = policyOf(ctx, topic);
  // rule: late-since-the-last-start
  const since = Math.max(startOf(job), knownPause(ctx, topic)?.followedAt ?? 0);
  return window === undefined ? since : nextOpening(window, since);
}

/** Makes the next caller read this topic's pause and item `limited` again. Callers that have read them go on with the last values. */
export function expireKnownPause(ctx: Context, topic: string): void {
  refreshing.get(ctx.pool)?.delete(topic);
  const cache = known.get(ctx.pool);
  const last = cache?.get(topic);
  if (last) cache?.set(topic, { ...last, readAt: Number.NEGATIVE_INFINITY });
}

/**
 * Reads the pauses of these topics from the pool, not from the process's memory. A topic that is being resumed still has a pause.
 * `undefined`: the topic has none, or it is over, or a newer version wrote it (reported).
 */
export async function readPauses(ctx: Context, topics: readonly string[]): Promise<(Pause | undefined)[]> {
  const pauses = (await ctx.pool.read(topics.map(pauseKey))) as (Pause | undefined)[];
  return pauses.map((pause, i) => {
    const error = pause && layoutTrouble(pause);
    if (error !== undefined)
      ctx.report({ type: "trouble", topic: topics[i] ?? "", what: "reading a pause", error });
    return pause && error === undefined && !isPauseOver(pause) ? pause : undefined;
  });
}

/** Reads pauses as `readPauses` does. If they cannot be read together, reads each by itself. */
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
