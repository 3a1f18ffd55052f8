import { BUCKET, NO_ANSWER_AFTER, PAUSE_KNOWN_FOR, WRITER_DEADLINE } from "../../core/constants.ts";
import { LIMITED_TOPICS, limitedKey } from "../../core/items.ts";
import type { Context, Pool } from "../ports.ts";
import { listedTopics, listTopic } from "../store/listed-topics.ts";
import { forgetPause, knownLimited } from "./known-pauses.ts";

/** `until`: when they are read anew, ms since the epoch. */
type Listed = { topics: Promise<ReadonlySet<string>>; until: number };
const listed = new WeakMap<Pool, Listed>();
/** How long a read that has met no answer is not repeated: ms. */
const SICK_FOR = BUCKET;

/**
 * The topics that have a limit and whose jobs were parked for it, now or ever: a process that does not know of a newer
 * deploy may park a job of a topic whose limit is gone. As they were read at most `PAUSE_KNOWN_FOR` ago.
 */
export function limitedTopics(ctx: Context): Promise<ReadonlySet<string>> {
  const begun = ctx.clock();
  const known = listed.get(ctx.pool);
  if (known && begun < known.until) return known.topics;
  const topics = listedTopics(ctx, LIMITED_TOPICS).then((names) => new Set(names));
  const read: Listed = { topics, until: begun + PAUSE_KNOWN_FOR };
  listed.set(ctx.pool, read);
  // Who waits for it is told.
  topics.catch(() => {
    read.until = ctx.clock() - begun >= NO_ANSWER_AFTER ? ctx.clock() + SICK_FOR : begun;
  });
  return topics;
}

/** Lets each tick look for this topic's parked jobs, from now on. */
export async function listLimited(ctx: Context, topic: string, by: number): Promise<void> {
  if (await knownLimited(ctx, topic)) return;
  await listTopic(ctx, limitedKey(topic), by);
  forgetPause(ctx, topic);
  listed.delete(ctx.pool);
}

/**
 * Says up to when starts of a topic were given while jobs were left without one; `undefined`: none are left. It keeps new
 * jobs from overtaking those that are parked, and no promise rests on it.
 */
export async function noteCrowd(ctx: Context, topic: string, until: number | undefined): Promise<void> {
  const found = await knownLimited(ctx, topic);
  if (found?.until === until) return;
  const by = ctx.clock() + WRITER_DEADLINE;
  await listLimited(ctx, topic, by);
  const change = until === undefined ? { set: {}, remove: ["until"] } : { set: { until } };
  await ctx.pool.change({ key: limitedKey(topic), expect: { until: found?.until }, ...change }, by);
  forgetPause(ctx, topic);
}
