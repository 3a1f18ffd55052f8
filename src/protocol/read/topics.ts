import type { Actor } from "../../core/actor.ts";
import { AUDIT_AFTER, LOOKAHEAD } from "../../core/constants.ts";
import { type Cursor, cursorKey, type Pause, timeOf } from "../../core/items.ts";
import { layoutTrouble } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import type { TopicPolicy } from "../../settings/policy.ts";
import { readPauses } from "../gate/known-pauses.ts";
import { countParked } from "../gate/park.ts";
import { requireTopic } from "../policy.ts";
import type { Context, Depth } from "../ports.ts";
import { knownShards, shardsToRelease } from "../store/shards.ts";

export type TopicReport = {
  topic: string;
  policy: TopicPolicy;
  queue: Depth;
  /** How many messages are in the topic's DLQ. */
  dead: number;
  /** ms, the same for all topics. */
  sweepLag: number;
  /** Absent: the topic is neither paused nor being resumed. */
  pause?: {
    state: "paused" | "resuming";
    /** ms since the epoch. */
    since: number;
    /** Who paused the topic or, in a resume, who resumed it. */
    by?: Actor;
    ratePerSecond?: number;
    /** Also for the topic's limit, counted up to 1,000. */
    parked: number;
  };
};

export async function reportTopics(ctx: Context, topics: readonly string[]): Promise<TopicReport[]> {
  const [lag, pauses] = await Promise.all([sweepLag(ctx), readPauses(ctx, topics)]);
  return inParallel([...topics.entries()], 8, async ([i, topic]) => {
    const pause = pauses[i];
    const [queue, dead, parked] = await Promise.all([
      ctx.queues.depth({ topic }),
      ctx.queues.depth({ topic, dead: true }),
      pause ? countParked(ctx, topic, await shardsToRelease(ctx)) : 0,
    ]);
    return {
      topic,
      policy: requireTopic(ctx, topic),
      queue,
      dead: dead.ready + dead.inFlight,
      sweepLag: lag,
      ...(pause ? { pause: pauseReport(pause, parked) } : {}),
    };
  });
}

function pauseReport({ state, since, rate, by }: Pause, parked: number): NonNullable<TopicReport["pause"]> {
  return { state, since, parked, ...(by && { by }), ...(rate === undefined ? {} : { ratePerSecond: rate }) };
}

/** How far the slowest shard's sweep is behind `LOOKAHEAD` from now: ms. Two minutes are normal: docs/internals/decisions/audit.md. */
async function sweepLag(ctx: Context): Promise<number> {
  const { shards } = await knownShards(ctx);
  const keys = Array.from({ length: shards }, (_, shard) => cursorKey(shard));
  const cursors = (await ctx.pool.read(keys)) as (Cursor | undefined)[];
  const now = ctx.clock();
  const positions = cursors.map((cursor) =>
    cursor && layoutTrouble(cursor) === undefined ? timeOf(cursor.swept) : now - AUDIT_AFTER,
  );
  return Math.max(0, now + LOOKAHEAD - Math.min(...positions));
}
