import { MAPPING_FOLLOWS, NEXT_TICK, PAUSE_KNOWN_FOR, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { ITEM_VERSION, PAUSED_TOPICS, type Pause, pausedTopicKey, pauseKey } from "../../core/items.ts";
import { requireReadable } from "../../core/readable.ts";
import { expireKnownPause, isPauseOver } from "../gate/known-pauses.ts";
import { policyOf } from "../policy.ts";
import type { Attribute, Context } from "../ports.ts";
import { listedTopics, listTopic } from "../store/listed-topics.ts";

const TRIES = 10;
/**
 * How long, in ms, Lambda takes at most to poll a queue again if it refuses the resume's call or never gets it: it follows the pause, the next
 * tick repeats the call, and Lambda follows that call.
 */
const REFUSED_FOLLOWS = MAPPING_FOLLOWS + NEXT_TICK + MAPPING_FOLLOWS;

/** Pauses a topic until it is resumed. All processes know of the pause within `PAUSE_KNOWN_FOR`. Throws `unavailable`. */
export async function pauseTopic(ctx: Context, topic: string): Promise<Pause> {
  const now = ctx.clock();
  let writtenAt: number | undefined;
  const wanted = (found: Pause | undefined): Wanted | undefined => {
    if (found?.state === "paused") {
      if (writtenAt !== undefined && found.changedAt >= writtenAt) return undefined;
      // A paused topic gets a new `changedAt`, so that the write of an earlier resume, which may still be on its way, is refused.
      writtenAt = Math.max(now, found.changedAt + 1);
      return { set: { state: "paused", changedAt: writtenAt }, remove: [] };
    }
    writtenAt = now;
    const paused = { state: "paused", since: now, changedAt: now };
    return { set: paused, remove: found ? ["expiresAt", "rate"] : [] };
  };
  const paused = await changePause(ctx, topic, wanted);
  if (!paused)
    throw new MinutehandError(
      "unavailable",
      `the pause of topic ${topic} was not found after it was written`,
    );
  await setQueuePolling(ctx, topic, false);
  return paused;
}

/**
 * Resumes a paused topic, and answers its pause. `undefined`: the topic is not paused. A call during a resume changes the rate for the parked
 * jobs that have no start yet.
 * @param rate how many parked jobs start a second at most; `undefined`: all of them start at once
 * @throws `unavailable`
 */
export async function resumeTopic(
  ctx: Context,
  topic: string,
  rate: number | undefined,
): Promise<Pause | undefined> {
  const now = ctx.clock();
  const wanted = (found: Pause | undefined): Wanted | undefined => {
    if (!found || isPauseOver(found) || (found.state === "resuming" && found.rate === rate)) return undefined;
    const isResuming = found.state === "resuming";
    const liftedAt = isResuming ? (found.liftedAt ?? found.changedAt) : now;
    // Without a rate, the pause parks no job from now on. With a rate, it parks jobs that were to start before the resume, even if an
    // earlier rate of this resume has ended.
    const changedAt = rate === undefined ? now : liftedAt;
    const followedAt = isResuming ? (found.followedAt ?? now) : now + followsWithin(ctx, topic);
    const set = { state: "resuming", changedAt, liftedAt, followedAt };
    return rate === undefined ? { set, remove: ["rate"] } : { set: { ...set, rate }, remove: [] };
  };
  const lifted = await changePause(ctx, topic, wanted);
  if (!lifted || !(await setQueuePolling(ctx, topic, true))) return lifted;
  const soon = ctx.clock() + MAPPING_FOLLOWS;
  return (lifted.followedAt ?? 0) > soon ? followAt(ctx, topic, lifted, soon) : lifted;
}

/** Lets a resume give its starts sooner, because Lambda has accepted the call that lets it poll the queue. */
async function followAt(ctx: Context, topic: string, lifted: Pause, followedAt: number): Promise<Pause> {
  const { state, changedAt, rate } = lifted;
  if (state !== "resuming") return lifted;
  const expect = { state, changedAt, rate, followedAt: lifted.followedAt };
  const change = { key: pauseKey(topic), expect, set: { followedAt } };
  const { changed } = await ctx.pool.change(change, ctx.clock() + WRITER_DEADLINE);
  expireKnownPause(ctx, topic);
  return changed ? { ...lifted, followedAt } : lifted;
}

/**
 * Answers the longest time, in ms, until consumers receive again after a resume made now. If a rate or a limit gave starts in that time,
 * their jobs would all run at once, and would be late although nothing holds them.
 */
function followsWithin(ctx: Context, topic: string): number {
  if (!ctx.eventSources) return 0;
  // A `receive` may use a pause that was read `PAUSE_KNOWN_FOR` ago, and wait as long again until it reads the pause anew.
  if (policyOf(ctx, topic).consumer === "pull") return 2 * PAUSE_KNOWN_FOR;
  // Lambda may refuse the call that follows, or this process may die before it calls. Then a tick calls Lambda.
  return REFUSED_FOLLOWS;
}

type Wanted = { set: Record<string, Attribute>; remove: string[] };

/**
 * Changes a topic's pause until `wanted` asks for no further change of the pause as it was just read. Answers the pause as it is then.
 * `undefined`: there is no pause, or the pause is over.
 */
async function changePause(
  ctx: Context,
  topic: string,
  wanted: (found: Pause | undefined) => Wanted | undefined,
): Promise<Pause | undefined> {
  const key = pauseKey(topic);
  const by = ctx.clock() + WRITER_DEADLINE;
  for (let i = 0; i < TRIES; i++) {
    const [read] = (await ctx.pool.read([key])) as [Pause | undefined];
    const found = requireReadable(read, `the pause of topic ${topic}`);
    const change = wanted(found);
    if (!change) return found && !isPauseOver(found) ? found : undefined;
    // Listed before it is paused: if a deploy removes the topic, ticks know of its pause by this list alone.
    await listPaused(ctx, topic, by);
    let isWritten: boolean;
    if (found) {
      const { state, changedAt, rate, expiresAt } = found;
      const expect = { state, changedAt, rate, expiresAt };
      isWritten = (await ctx.pool.change({ key, expect, ...change }, by)).changed;
    } else {
      const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION, ...change.set } as Pause], by);
      if (outcome instanceof Error) throw outcome;
      isWritten = outcome === "inserted";
    }
    // The next round reads the pause again, whether the write was done or refused.
    expireKnownPause(ctx, topic);
    if (isWritten) ctx.report({ type: change.set.state === "paused" ? "paused" : "resumed", topic });
  }
  throw new MinutehandError(
    "unavailable",
    `other calls keep changing the pause of topic ${topic}; repeat the call`,
  );
}

/** Answers all topics that were ever paused, also those that a deploy has removed. */
export function pausedTopics(ctx: Context): Promise<string[]> {
  return listedTopics(ctx, PAUSED_TOPICS);
}

/** Lists a topic, so that each tick looks at the topic's pause from now on. */
export function listPaused(ctx: Context, topic: string, by: number): Promise<void> {
  return listTopic(ctx, pausedTopicKey(topic), by);
}

/**
 * Enables or disables the event source mapping by which Lambda polls a topic's queue, and answers whether Lambda accepted the call. A failure
 * is only reported: consumers keep to a pause themselves, and ticks repeat the call.
 */
export async function setQueuePolling(ctx: Context, topic: string, enabled: boolean): Promise<boolean> {
  try {
    // rule: lambda-follows-a-resume
    await ctx.eventSources?.enable(topic, enabled);
    return true;
  } catch (error) {
    const what = `${enabled ? "enabling" : "disabling"} the event source mapping`;
    ctx.report({ type: "trouble", topic, what, error: messageOf(error) });
    return false;
  }
}
