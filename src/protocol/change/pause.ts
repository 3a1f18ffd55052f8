import { MAPPING_FOLLOWS, NEXT_TICK, PAUSE_KNOWN_FOR, WRITER_DEADLINE } from "../../core/constants.ts";
import { keepsChanging, MinutehandError, messageOf } from "../../core/errors.ts";
import { PAUSED_TOPICS, pausedTopicKey, pauseKey } from "../../core/item-keys.ts";
import { ITEM_VERSION, type Pause } from "../../core/items.ts";
import { requireReadable } from "../../core/readable.ts";
import { expireKnownPause, isPauseOver } from "../gate/known-pauses.ts";
import { policyOf } from "../policy.ts";
import type { Attribute, Context } from "../ports.ts";
import { listedTopics, listTopic } from "../store/listed-topics.ts";

const TRIES = 10;
/** How long Lambda takes at most to poll a queue again if the resume's call fails: it follows the pause, a tick calls again, it follows: ms. */
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
    const paused = { state: "paused", since: now, changedAt: now, ...actorIn(ctx) };
    return { set: paused, remove: found ? ["expiresAt", "rate", ...formerActor(paused)] : [] };
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
 * Resumes a paused topic, or changes the rate of a resume for the jobs that have no start yet. `undefined`: the topic is not paused.
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
    // Without a rate, the pause parks no job from now on. With one, it parks the jobs that were to start before the resume.
    const changedAt = rate === undefined ? now : liftedAt;
    const followedAt = isResuming ? (found.followedAt ?? now) : now + followsWithin(ctx, topic);
    const set = { state: "resuming", changedAt, liftedAt, followedAt, ...actorIn(ctx) };
    const remove = formerActor(set);
    return rate === undefined ? { set, remove: ["rate", ...remove] } : { set: { ...set, rate }, remove };
  };
  const lifted = await changePause(ctx, topic, wanted);
  if (!lifted || !(await setQueuePolling(ctx, topic, true))) return lifted;
  const soon = ctx.clock() + MAPPING_FOLLOWS;
  return (lifted.followedAt ?? 0) > soon ? followAt(ctx, topic, lifted, soon) : lifted;
}

function actorIn({ by }: Context): Pick<Pause, "by"> {
  return by ? { by: by() } : {};
}

/** If the queue itself makes the change, the name of the former actor must not stay. */
function formerActor({ by }: Pick<Pause, "by">): string[] {
  return by ? [] : ["by"];
}

/** Lets a resume give its starts sooner, because Lambda has accepted the call. */
async function followAt(ctx: Context, topic: string, lifted: Pause, followedAt: number): Promise<Pause> {
  const { state, changedAt, rate } = lifted;
  if (state !== "resuming") return lifted;
  const expect = { state, changedAt, rate, followedAt: lifted.followedAt };
  const change = { key: pauseKey(topic), expect, set: { followedAt } };
  const { changed } = await ctx.pool.change(change, ctx.clock() + WRITER_DEADLINE);
  expireKnownPause(ctx, topic);
  return changed ? { ...lifted, followedAt } : lifted;
}

/** How long after a resume consumers may take to receive again: ms. Jobs with starts in that time would all run at once, and late. */
function followsWithin(ctx: Context, topic: string): number {
  if (!ctx.eventSources) return 0;
  // A `receive` may use a pause that was read `PAUSE_KNOWN_FOR` ago, and wait as long again until it reads the pause anew.
  if (policyOf(ctx, topic).consumer === "pull") return 2 * PAUSE_KNOWN_FOR;
  // Lambda may refuse the call that follows, or this process may die before it calls. Then a tick calls Lambda.
  return REFUSED_FOLLOWS;
}

type Wanted = { set: Record<string, Attribute>; remove: string[] };

/** Changes a topic's pause until `wanted` asks for no further change of it. `undefined`: there is no pause, or it is over. */
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
    expireKnownPause(ctx, topic);
    if (isWritten) ctx.report({ type: change.set.state === "paused" ? "paused" : "resumed", topic });
  }
  throw keepsChanging(`the pause of topic ${topic}`);
}

/** Answers all topics that were ever paused, also those that a deploy has removed. */
export function pausedTopics(ctx: Context): Promise<string[]> {
  return listedTopics(ctx, PAUSED_TOPICS);
}

/** Lists a topic, so that each tick looks at the topic's pause from now on. */
export function listPaused(ctx: Context, topic: string, by: number): Promise<void> {
  return listTopic(ctx, pausedTopicKey(topic), by);
}

/** Tells Lambda whether to poll a topic's queue. `false`: Lambda has not accepted the call. Consumers keep to a pause, and ticks call again. */
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
