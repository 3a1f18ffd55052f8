import { BUCKET, NO_ANSWER_AFTER, PAUSE_KNOWN_FOR, WRITER_DEADLINE } from "../../core/constants.ts";
import { LIMITED_TOPICS, limitedKey } from "../../core/item-keys.ts";
import type { Context, Pool } from "../ports.ts";
import { listedTopics, listTopic } from "../store/listed-topics.ts";
import { askUnlessSilent } from "../store/silence.ts";
import { expireKnownPause, knownLimited } from "./known-pauses.ts";

/** `until`: when the list is read again, ms since the epoch. */
type Listed = { topics: Promise<ReadonlySet<string>>; until: number };
const listed = new WeakMap<Pool, Listed>();
/** How long a read that got no answer is not repeated: ms. */
const SICK_FOR = BUCKET;

const askList = askUnlessSilent();
/** Jobs of other topics wait while the list is written: ms. */
const PATIENCE = 10_000;

/** The topics whose jobs were ever parked for a limit. A topic stays listed: a process that knows of no deploy may still park jobs. */
export function limitedTopics(ctx: Context): Promise<ReadonlySet<string>> {
  const begun = ctx.clock();
  const known = listed.get(ctx.pool);
  if (known && begun < known.until) return known.topics;
  const topics = listedTopics(ctx, LIMITED_TOPICS).then((names) => new Set(names));
  const read: Listed = { topics, until: begun + PAUSE_KNOWN_FOR };
  listed.set(ctx.pool, read);
  // Only decides when the next read is made: callers get the error from the promise.
  topics.catch(() => {
    read.until = ctx.clock() - begun >= NO_ANSWER_AFTER ? ctx.clock() + SICK_FOR : begun;
  });
  return topics;
}

/** From now on each tick looks for the topic's parked jobs. Idempotent. @throws at once, for 40 s, if the last call got no answer */
export async function listLimited(ctx: Context, topic: string, by: number): Promise<void> {
  if (await knownLimited(ctx, topic)) return;
  const soon = Math.min(by, ctx.clock() + PATIENCE);
  await askList(ctx, LIMITED_TOPICS, () => listTopic(ctx, limitedKey(topic), soon));
  expireKnownPause(ctx, topic);
  listed.delete(ctx.pool);
}

/** Stores up to when a release that left jobs without a start has given starts. New jobs get no later ones: for fairness only. */
export async function noteLastStartGiven(
  ctx: Context,
  topic: string,
  until: number | undefined,
): Promise<void> {
  const found = await knownLimited(ctx, topic);
  if (found?.until === until) return;
  const by = ctx.clock() + WRITER_DEADLINE;
  await listLimited(ctx, topic, by);
  const change = until === undefined ? { set: {}, remove: ["until"] } : { set: { until } };
  await ctx.pool.change({ key: limitedKey(topic), expect: { until: found?.until }, ...change }, by);
  expireKnownPause(ctx, topic);
}
