import { BUCKET, NO_ANSWER_AFTER, PAUSE_KNOWN_FOR } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { heldFromAt, startsAt } from "../../core/home.ts";
import { type Home, type Limited, limitedKey, type Pause, pauseKey } from "../../core/items.ts";
import { isOver, pausedFor } from "../../core/pauses.ts";
import { layoutTrouble } from "../../core/readable.ts";
import { isLimited } from "../policy.ts";
import type { Context, Pool } from "../ports.ts";
import { createSilences } from "../store/silence.ts";

/** `pause`: as far as it can be read. `limited`: what the pool has of a topic with a limit. `resumedAt`: when its pause was lifted, if that is not over. */
type Known = {
  pause: Pause | undefined;
  before: number;
  limited: Limited | undefined;
  resumedAt: number | undefined;
  readAt: number;
};
const known = new WeakMap<Pool, Map<string, Known>>();
/** A look at one topic that is under way. `begun`: ms since the epoch. */
type Look = { readonly begun: number; readonly end: Promise<void> };
/** By topic. */
const looking = new WeakMap<Pool, Map<string, Look>>();
/** The topics whose pauses could not be read while the pauses of others could. */
const silences = createSilences(BUCKET);

/**
 * Before which start (ms since the epoch) each of these topics' jobs are held, as it was read at most
 * `PAUSE_KNOWN_FOR` ago: all of a paused topic; of one that is resumed at a rate those of before, which wait for
 * their turn.
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
  // A look at several topics is nobody else's: it fails for the trouble of any of them.
  if (stale.length === 1 && only !== undefined) await lookTogether(ctx, only);
  else await lookAtPauses(ctx, stale);
  return new Map(unique.map((topic) => [topic, known.get(ctx.pool)?.get(topic)?.before ?? NOTHING]));
}

/** The same of one topic. */
export async function pauseBound(ctx: Context, topic: string): Promise<number> {
  return (await pauseBounds(ctx, [topic])).get(topic) ?? NOTHING;
}

/**
 * Which of these topics' pauses cannot be read, and why. Nothing of such a topic may be handed over: it may be paused. But one
 * topic's trouble is its own, so that the others' are looked at then by themselves.
 */
export async function unknownPauses(ctx: Context, topics: readonly string[]): Promise<Map<string, unknown>> {
  const begun = ctx.clock();
  const unknown = new Map<string, unknown>();
  for (const topic of topics) {
    const last = silences.errorOf(ctx, topic);
    if (last) unknown.set(topic, last);
  }
  const asked = [...new Set(topics)].filter((topic) => !unknown.has(topic));
  try {
    await pauseBounds(ctx, asked);
    return unknown;
  } catch (error) {
    const [topic = "", ...others] = asked;
    if (others.length === 0) {
      const isSlow =
        ctx.clock() - begun >= NO_ANSWER_AFTER &&
        (await isAnotherRead(ctx, new Set([topic, ...silences.names(ctx)])));
      if (isSlow) silences.note(ctx, topic, error);
      return unknown.set(topic, error);
    }
  }
  const again = ctx.clock();
  const errors = new Map<string, unknown>();
  await Promise.all(
    asked.map((topic) => pauseBounds(ctx, [topic]).catch((error: unknown) => errors.set(topic, error))),
  );
  // Where none can be read it is the pool that fails, which may answer at any moment.
  const isSlow = ctx.clock() - again >= NO_ANSWER_AFTER && errors.size < asked.length;
  for (const [topic, error] of errors) {
    unknown.set(topic, error);
    if (isSlow) silences.note(ctx, topic, error);
  }
  return unknown;
}

/** Whether the pause of a topic that is none of these can be read, so that it is not the pool that fails. */
async function isAnotherRead(ctx: Context, sick: ReadonlySet<string>): Promise<boolean> {
  const other = Object.keys(ctx.policy.topics).find((topic) => !sick.has(topic));
  if (other === undefined) return false;
  return lookAtPauses(ctx, [other]).then(
    () => true,
    () => false,
  );
}

/** The same as it is now. */
export async function pauseBoundsNow(ctx: Context, topics: readonly string[]): Promise<Map<string, number>> {
  await lookAtPauses(ctx, topics);
  return pauseBounds(ctx, topics);
}

/** What the pool has of a topic with a limit, as it was read at most `PAUSE_KNOWN_FOR` ago. */
export async function knownLimited(ctx: Context, topic: string): Promise<Limited | undefined> {
  await pauseBounds(ctx, [topic]);
  return known.get(ctx.pool)?.get(topic)?.limited;
}

/** When the pause of a topic was lifted that is being resumed, as it was read at most `PAUSE_KNOWN_FOR` ago. */
export async function knownResume(ctx: Context, topic: string): Promise<number | undefined> {
  await pauseBounds(ctx, [topic]);
  return known.get(ctx.pool)?.get(topic)?.resumedAt;
}

/** Before when a limit gives no start, as consumers may not have followed a resume yet: by what this process has read last. */
export async function knownFollowedAt(ctx: Context, topic: string): Promise<number> {
  await pauseBounds(ctx, [topic]);
  return known.get(ctx.pool)?.get(topic)?.pause?.followedAt ?? NOTHING;
}

/**
 * The `heldFrom` of a job that is given a new start now (`heldFromAt`), by its topic's pauses as this process has read them last.
 * Whoever hands jobs over has read them just before.
 */
export function heldFromNow(ctx: Context, home: Home, now: number): number {
  return heldFromAt(home, now, pausedSince(ctx, home.topic, startsAt(home), now));
}

/** How much of the time from `start` to `now` a topic's pauses took, in ms, as this process has read them last. */
export function pausedSince(ctx: Context, topic: string, start: number, now: number): number {
  return pausedFor(known.get(ctx.pool)?.get(topic)?.pause, start, now);
}

function readableOf(pause: Pause | undefined): Pause | undefined {
  return pause && layoutTrouble(pause) === undefined ? pause : undefined;
}

export async function isPaused(ctx: Context, topic: string): Promise<boolean> {
  return (await pauseBound(ctx, topic)) === EVERYTHING;
}

export const EVERYTHING = Number.POSITIVE_INFINITY;
const NOTHING = Number.NEGATIVE_INFINITY;

function boundOf(pause: Pause | undefined): number {
  // What it says, only a newer version knows: to hold the topic's jobs is what can be undone.
  if (pause && layoutTrouble(pause) !== undefined) return EVERYTHING;
  if (pause && isOver(pause)) return NOTHING;
  if (pause?.state === "paused") return EVERYTHING;
  return pause?.rate === undefined ? NOTHING : pause.changedAt;
}

/**
 * Looks at one topic's pause, if this process has not just begun to. The jobs of a batch ask one by one, hundreds at once. What was
 * begun earlier may be of a process that has stood still since.
 */
async function lookTogether(ctx: Context, topic: string): Promise<void> {
  const underWay = looking.get(ctx.pool) ?? new Map<string, Look>();
  looking.set(ctx.pool, underWay);
  const begun = ctx.clock();
  const last = underWay.get(topic);
  if (last && begun - last.begun < PAUSE_KNOWN_FOR) return last.end;
  const own: Look = { begun, end: lookAtPauses(ctx, [topic]) };
  underWay.set(topic, own);
  try {
    await own.end;
  } finally {
    if (underWay.get(topic) === own) underWay.delete(topic);
  }
}

async function lookAtPauses(ctx: Context, topics: readonly string[]): Promise<void> {
  if (topics.length === 0) return;
  // Taken before the reading: what changes meanwhile must not be believed for longer.
  const readAt = ctx.clock();
  const limited = topics.filter((topic) => isLimited(ctx, topic));
  const found = await ctx.pool.read([...topics.map(pauseKey), ...limited.map(limitedKey)]);
  const pauses = found.slice(0, topics.length).map((item) => item as Pause | undefined);
  const limits = new Map(limited.map((topic, i) => [topic, found[topics.length + i] as Limited | undefined]));
  const cache = known.get(ctx.pool) ?? new Map<string, Known>();
  known.set(ctx.pool, cache);
  for (const [i, topic] of topics.entries())
    cache.set(topic, {
      pause: readableOf(pauses[i]),
      before: boundOf(pauses[i]),
      limited: limits.get(topic),
      resumedAt: resumedAt(pauses[i]),
      readAt,
    });
}

function resumedAt(pause: Pause | undefined): number | undefined {
  if (!pause || layoutTrouble(pause) !== undefined || pause.state === "paused" || isOver(pause))
    return undefined;
  return pause.liftedAt ?? pause.changedAt;
}

/**
 * These topics' pauses in their order, with those that are being resumed; `undefined`: none, or over. One that cannot be read
 * is reported, and nothing can be said of it.
 */
export async function readPauses(ctx: Context, topics: readonly string[]): Promise<(Pause | undefined)[]> {
  const pauses = await storedPauses(ctx, topics);
  return pauses.map((pause, i) => {
    const error = pause && layoutTrouble(pause);
    if (error !== undefined)
      ctx.report({ type: "trouble", topic: topics[i] ?? "", what: "reading a pause", error });
    return pause && error === undefined && !isOver(pause) ? pause : undefined;
  });
}

/** The same of each by itself where one cannot be read: what kept it from that. */
export async function readPausesApart(
  ctx: Context,
  topics: readonly string[],
): Promise<(Pause | undefined | Error)[]> {
  try {
    return await readPauses(ctx, topics);
  } catch {
    return Promise.all(
      topics.map(async (topic) => {
        try {
          return (await readPauses(ctx, [topic]))[0];
        } catch (error) {
          return error instanceof Error ? error : new Error(messageOf(error));
        }
      }),
    );
  }
}

async function storedPauses(ctx: Context, topics: readonly string[]): Promise<(Pause | undefined)[]> {
  return (await ctx.pool.read(topics.map(pauseKey))) as (Pause | undefined)[];
}

/** The next look at this topic's pause and limit is a new one. What was seen last stays until then, for who has looked already. */
export function forgetPause(ctx: Context, topic: string): void {
  looking.get(ctx.pool)?.delete(topic);
  const cache = known.get(ctx.pool);
  const last = cache?.get(topic);
  if (last) cache?.set(topic, { ...last, readAt: Number.NEGATIVE_INFINITY });
}
