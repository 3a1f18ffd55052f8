import { PAUSE_KNOWN_FOR, WRITER_DEADLINE } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { ITEM_VERSION, type Pause, pauseKey } from "../core/items.ts";
import type { Attribute, Context, Pool } from "./ports.ts";

const TRIES = 10;

type Known = { before: number; readAt: number };
const known = new WeakMap<Pool, Map<string, Known>>();

/**
 * Before which start (ms since the epoch) each of these topics' jobs are held, as it was read at most
 * `PAUSE_KNOWN_FOR` ago: all of a paused topic; of one that is resumed at a rate those of before, which wait for
 * their turn.
 */
export async function heldBefore(ctx: Context, topics: readonly string[]): Promise<Map<string, number>> {
  const cache = known.get(ctx.pool);
  const isFresh = (topic: string): boolean => {
    const readAt = cache?.get(topic)?.readAt;
    return readAt !== undefined && ctx.clock() - readAt < PAUSE_KNOWN_FOR;
  };
  const unique = [...new Set(topics)];
  await lookAtPauses(
    ctx,
    unique.filter((topic) => !isFresh(topic)),
  );
  return new Map(unique.map((topic) => [topic, known.get(ctx.pool)?.get(topic)?.before ?? NOTHING]));
}

/** The same as it is now. */
export async function heldBeforeNow(ctx: Context, topics: readonly string[]): Promise<Map<string, number>> {
  await lookAtPauses(ctx, topics);
  return heldBefore(ctx, topics);
}

export async function isPaused(ctx: Context, topic: string): Promise<boolean> {
  return (await heldBefore(ctx, [topic])).get(topic) === EVERYTHING;
}

export const EVERYTHING = Number.POSITIVE_INFINITY;
const NOTHING = Number.NEGATIVE_INFINITY;

function boundOf(pause: Pause | undefined): number {
  if (pause?.state === "paused") return EVERYTHING;
  return pause?.rate === undefined ? NOTHING : pause.changedAt;
}

async function lookAtPauses(ctx: Context, topics: readonly string[]): Promise<void> {
  if (topics.length === 0) return;
  // Taken before the reading: what changes meanwhile must not be believed for longer.
  const readAt = ctx.clock();
  const pauses = await readPauses(ctx, topics);
  const cache = known.get(ctx.pool) ?? new Map<string, Known>();
  known.set(ctx.pool, cache);
  for (const [i, topic] of topics.entries()) cache.set(topic, { before: boundOf(pauses[i]), readAt });
}

/** These topics' pauses in their order, with those that are being resumed; `undefined`: none, or over. */
export async function readPauses(ctx: Context, topics: readonly string[]): Promise<(Pause | undefined)[]> {
  const pauses = (await ctx.pool.read(topics.map(pauseKey))) as (Pause | undefined)[];
  return pauses.map((pause) => (pause?.expiresAt === undefined ? pause : undefined));
}

/**
 * Holds hand-off of a topic until it is resumed; again and again the same. Jobs whose time comes are parked in the
 * pool, and those that SQS has already where a consumer meets them. Whoever hands jobs over or runs them knows
 * within `PAUSE_KNOWN_FOR`. Throws `unavailable`.
 */
export async function pause(ctx: Context, topic: string): Promise<Pause> {
  const now = ctx.clock();
  const wanted = (found: Pause | undefined): Wanted | undefined =>
    found?.state === "paused"
      ? undefined
      : {
          set: { state: "paused", since: now, changedAt: now },
          remove: ["rate", "nextAt", "expiresAt"],
        };
  const paused = await changePause(ctx, topic, wanted);
  if (!paused) throw new MinutehandError("unavailable", `the pause of topic ${topic} is not there`);
  await pollQueue(ctx, topic, false);
  return paused;
}

/**
 * Lets hand-off of a paused topic go on; its parked jobs start at most `rate` a second, or at once. Again, it changes
 * the rate of those that are left. `undefined`: the topic is not paused. Throws `unavailable`.
 */
export async function lift(
  ctx: Context,
  topic: string,
  rate: number | undefined,
): Promise<Pause | undefined> {
  const now = ctx.clock();
  const wanted = (found: Pause | undefined): Wanted | undefined => {
    if (!found || (found.state === "resuming" && found.rate === rate)) return undefined;
    const changedAt = found.state === "resuming" ? found.changedAt : now;
    const set = { state: "resuming", changedAt, nextAt: now };
    return rate === undefined ? { set, remove: ["rate"] } : { set: { ...set, rate }, remove: [] };
  };
  const lifted = await changePause(ctx, topic, wanted);
  if (lifted) await pollQueue(ctx, topic, true);
  return lifted;
}

type Wanted = { set: Record<string, Attribute>; remove: string[] };

/** Changes a topic's pause from what it is found as, and answers what it is then. */
async function changePause(
  ctx: Context,
  topic: string,
  wanted: (found: Pause | undefined) => Wanted | undefined,
): Promise<Pause | undefined> {
  const key = pauseKey(topic);
  const by = ctx.clock() + WRITER_DEADLINE;
  for (let i = 0; i < TRIES; i++) {
    const [found] = (await ctx.pool.read([key])) as [Pause | undefined];
    const change = wanted(found?.expiresAt === undefined ? found : undefined);
    if (!change) return found?.expiresAt === undefined ? found : undefined;
    if (found) {
      const { state, changedAt, rate, expiresAt } = found;
      await ctx.pool.change({ key, expect: { state, changedAt, rate, expiresAt }, ...change }, by);
    } else {
      const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION, ...change.set } as Pause], by);
      if (outcome instanceof Error) throw outcome;
    }
    // What was refused, or applied with its answer lost, is found as it stands now.
    known.get(ctx.pool)?.delete(topic);
    const type = change.set.state === "paused" ? "paused" : "resumed";
    ctx.report({ type, topic });
  }
  throw new MinutehandError("unavailable", `the pause of topic ${topic} keeps changing; repeat the call`);
}

/**
 * Lets Lambda poll a topic's queue or not, and says whether Lambda took it. What fails is reported and no more:
 * consumers keep to a pause themselves, and ticks repeat this for a while after each change.
 */
export async function pollQueue(ctx: Context, topic: string, enabled: boolean): Promise<boolean> {
  try {
    await ctx.eventSources?.enable(topic, enabled);
    return true;
  } catch (error) {
    const what = enabled ? "letting Lambda poll the queue" : "keeping Lambda from the queue";
    ctx.report({ type: "trouble", topic, what, error: messageOf(error) });
    return false;
  }
}
