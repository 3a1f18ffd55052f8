import {
  MAPPING_FOLLOWS,
  NEXT_TICK,
  PAUSE_KNOWN_FOR,
  STARTS_AHEAD,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { ITEM_VERSION, PAUSED_TOPICS, type Pause, pausedTopicKey, pauseKey } from "../../core/items.ts";
import { isOver, spansAfter } from "../../core/pauses.ts";
import { forgetPause } from "../gate/known-pauses.ts";
import { policyOf } from "../policy.ts";
import type { Attribute, Context } from "../ports.ts";
import { listedTopics, listTopic } from "../store/listed-topics.ts";
import { readable } from "../store/unreadable.ts";

const TRIES = 10;
/** What a pause says of the starts that its resume gives at a rate. */
const OF_RATE = ["rate", "nextAt", "givenRate", "givenUntil"];
/** How long Lambda takes at most to follow a wish that it refuses, or that a tick tells it first: ms. */
const REFUSED_FOLLOWS = MAPPING_FOLLOWS + NEXT_TICK + MAPPING_FOLLOWS;

/**
 * Pauses a topic until it is resumed. Idempotent: pausing a paused topic changes nothing. Jobs whose time comes are parked in the
 * pool, and jobs that SQS has already are parked when a consumer receives them. All processes know of the pause within
 * `PAUSE_KNOWN_FOR`. Throws `unavailable`.
 */
export async function pause(ctx: Context, topic: string): Promise<Pause> {
  const now = ctx.clock();
  let said: number | undefined;
  const wanted = (found: Pause | undefined): Wanted | undefined => {
    if (found?.state === "paused") {
      if (said !== undefined && found.changedAt >= said) return undefined;
      // Said again, it holds against a resume of before whose write is still on its way.
      said = Math.max(now, found.changedAt + 1);
      return { set: { state: "paused", changedAt: said }, remove: [] };
    }
    said = now;
    const paused = { state: "paused", since: now, changedAt: now };
    if (!found) return { set: paused, remove: [] };
    // How far a resume that is not over has given starts away stays: it may go on at the same rate.
    const remove = isOver(found) ? ["expiresAt", ...OF_RATE] : [];
    return { set: { ...paused, earlier: spansAfter(found, now) }, remove };
  };
  const paused = await changePause(ctx, topic, wanted);
  if (!paused)
    throw new MinutehandError(
      "unavailable",
      `the pause of topic ${topic} was not found after it was written`,
    );
  await pollQueue(ctx, topic, false);
  return paused;
}

/**
 * Lets hand-off of a paused topic go on; its parked jobs start at most `rate` a second, or at once. Again, it changes
 * the rate of those that are left; those that have been given a start keep it. `undefined`: the topic is not paused.
 * Throws `unavailable`.
 */
export async function lift(
  ctx: Context,
  topic: string,
  rate: number | undefined,
): Promise<Pause | undefined> {
  const now = ctx.clock();
  const wanted = (found: Pause | undefined): Wanted | undefined => {
    if (!found || isOver(found) || (found.state === "resuming" && found.rate === rate)) return undefined;
    const isResuming = found.state === "resuming";
    const liftedAt = isResuming ? (found.liftedAt ?? found.changedAt) : now;
    // Without a rate nothing is parked any more, from now on. A rate holds what was to start before the resume, and no later jobs,
    // though the rate before may have ended since.
    const changedAt = rate === undefined ? now : liftedAt;
    const followedAt = isResuming ? (found.followedAt ?? now) : now + followsWithin(ctx, topic);
    const isSame = found.rate === rate;
    const nextAt = Math.max(isSame ? (found.nextAt ?? now) : now, now, followedAt);
    const set = { state: "resuming", changedAt, liftedAt, followedAt, nextAt };
    if (rate === undefined) return { set, remove: ["rate"] };
    return { set: { ...set, rate, ...(isSame ? {} : givenBefore(found, now)) }, remove: [] };
  };
  const lifted = await changePause(ctx, topic, wanted);
  if (!lifted || !(await pollQueue(ctx, topic, true))) return lifted;
  const soon = ctx.clock() + MAPPING_FOLLOWS;
  return (lifted.followedAt ?? 0) > soon ? followAt(ctx, topic, lifted, soon) : lifted;
}

/** What earlier rates of a resume have given, at most: beside it another rate gives what is left of its own. */
function givenBefore(
  { rate, nextAt, givenRate = 0, givenUntil = 0 }: Pause,
  now: number,
): { givenRate?: number; givenUntil?: number } {
  if (rate === undefined && givenUntil <= now) return {};
  // At a slow rate the next start may be days ahead.
  const until = Math.max(givenUntil, Math.min(nextAt ?? now, now + STARTS_AHEAD));
  return { givenRate: Math.max(rate ?? 0, givenUntil > now ? givenRate : 0), givenUntil: until };
}

/** Lets starts be given sooner, as Lambda has taken the wish for a resume. */
async function followAt(ctx: Context, topic: string, lifted: Pause, followedAt: number): Promise<Pause> {
  const { state, changedAt, rate, nextAt } = lifted;
  if (state !== "resuming") return lifted;
  const isFirst = nextAt === undefined || nextAt <= (lifted.followedAt ?? 0);
  const better = { followedAt, nextAt: isFirst ? followedAt : Math.max(nextAt, followedAt) };
  const expect = { state, changedAt, rate, nextAt, followedAt: lifted.followedAt };
  const change = { key: pauseKey(topic), expect, set: better };
  const { changed } = await ctx.pool.change(change, ctx.clock() + WRITER_DEADLINE);
  forgetPause(ctx, topic);
  return changed ? { ...lifted, ...better } : lifted;
}

/**
 * How long after a resume of now consumers may still leave the queue alone, in ms: Lambda follows its mapping, and whoever pulls looks
 * again when what it believes of the pause is old, and a wait is over. The starts of a rate or a limit that were given before would
 * all come at once, and jobs would be late without being held.
 */
function followsWithin(ctx: Context, topic: string): number {
  if (!ctx.eventSources) return 0;
  if (policyOf(ctx, topic).consumer === "pull") return 2 * PAUSE_KNOWN_FOR;
  // Lambda has not taken the wish yet, and may refuse it. Whoever resumes may die before anybody knows: then a tick tells Lambda.
  return REFUSED_FOLLOWS;
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
    const [read] = (await ctx.pool.read([key])) as [Pause | undefined];
    const found = readable(read, `the pause of topic ${topic}`);
    const change = wanted(found);
    if (!change) return found && !isOver(found) ? found : undefined;
    // First, or a deploy that removes the topic would hide its pause from ticks.
    await listPaused(ctx, topic, by);
    if (found) {
      const { state, changedAt, rate, expiresAt, nextAt } = found;
      // Releases give starts away all the while.
      const given = "nextAt" in change.set ? { nextAt } : {};
      await ctx.pool.change({ key, expect: { state, changedAt, rate, expiresAt, ...given }, ...change }, by);
    } else {
      const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION, ...change.set } as Pause], by);
      if (outcome instanceof Error) throw outcome;
    }
    // What was refused, or applied with its answer lost, is found as it stands now.
    forgetPause(ctx, topic);
    const type = change.set.state === "paused" ? "paused" : "resumed";
    ctx.report({ type, topic });
  }
  throw new MinutehandError(
    "unavailable",
    `other calls keep changing the pause of topic ${topic}; repeat the call`,
  );
}

/** All topics that were ever paused: a deploy may have removed one of them in the middle of its resume. */
export function pausedTopics(ctx: Context): Promise<string[]> {
  return listedTopics(ctx, PAUSED_TOPICS);
}

/** Lets each tick look at this topic's pause, from now on. */
export function listPaused(ctx: Context, topic: string, by: number): Promise<void> {
  return listTopic(ctx, pausedTopicKey(topic), by);
}

/**
 * Lets Lambda poll a topic's queue or not, and says whether Lambda took it. What fails is reported and no more:
 * consumers keep to a pause themselves, and ticks repeat this for a while after each change.
 */
export async function pollQueue(ctx: Context, topic: string, enabled: boolean): Promise<boolean> {
  try {
    // rule: lambda-follows-a-resume
    await ctx.eventSources?.enable(topic, enabled);
    return true;
  } catch (error) {
    const what = enabled ? "letting Lambda poll the queue" : "keeping Lambda from the queue";
    ctx.report({ type: "trouble", topic, what, error: messageOf(error) });
    return false;
  }
}
