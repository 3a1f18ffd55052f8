import { inParallel } from "../core/batches.ts";
import { LOOKAHEAD } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { type Cursor, cursorKey, timeOf } from "../core/items.ts";
import type { TopicPolicy } from "../core/policy.ts";
import type { Context, Depth } from "./ports.ts";
import { policyOf } from "./send.ts";
import { shardCount } from "./shards.ts";

export type TopicReport = {
  topic: string;
  policy: TopicPolicy;
  queue: Depth;
  dead: number;
  sweepLag: number;
};

/** Throws `unknown-topic`. */
export function requireTopic(ctx: Context, topic: string): TopicPolicy {
  if (!Object.hasOwn(ctx.policy.topics, topic)) {
    const known = Object.keys(ctx.policy.topics).join(", ");
    throw new MinutehandError("unknown-topic", `topic must be one of ${known}, got ${topic}`, { topic });
  }
  return policyOf(ctx, topic);
}

/** Each topic's policy, the depths of its queues as SQS counts them (approximately), and the sweep lag in ms. */
export async function reportTopics(ctx: Context, topics: readonly string[]): Promise<TopicReport[]> {
  const lag = await sweepLag(ctx);
  return inParallel(topics, 8, async (topic) => {
    const [queue, dead] = await Promise.all([
      ctx.queues.depth({ topic }),
      ctx.queues.depth({ topic, dead: true }),
    ]);
    return {
      topic,
      policy: requireTopic(ctx, topic),
      queue,
      dead: dead.ready + dead.inFlight,
      sweepLag: lag,
    };
  });
}

/** How far the slowest shard's sweep is behind `LOOKAHEAD` from now, in ms; a minute is normal. */
async function sweepLag(ctx: Context): Promise<number> {
  const shards = await shardCount(ctx);
  const keys = Array.from({ length: shards }, (_, shard) => cursorKey(shard));
  const cursors = (await ctx.pool.read(keys)) as (Cursor | undefined)[];
  const limit = ctx.clock() + LOOKAHEAD;
  const lags = cursors.flatMap((cursor) => (cursor ? [limit - timeOf(cursor.swept)] : []));
  return Math.max(0, ...lags);
}
