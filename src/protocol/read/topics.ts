import type { Actor } from "../../core/actor.ts";
import { AUDIT_AFTER, LOOKAHEAD } from "../../core/constants.ts";
import { cursorKey, timeOf } from "../../core/item-keys.ts";
import type { Cursor, Pause } from "../../core/items.ts";
import { layoutTrouble } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import type { TopicPolicy } from "../../settings/policy.ts";
import { readPauses } from "../gate/known-pauses.ts";
import { countParked } from "../gate/park.ts";
import { requireTopic } from "../policy.ts";
import type { Context, Depth } from "../ports.ts";
import { knownShards, shardsToRelease } from "../store/shards.ts";
import { type Troubles, troublesOf } from "./troubled-jobs.ts";

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
} & Troubles;

export async function reportTopics(ctx: Context, topics: readonly string[]): Promise<TopicReport[]> {
  const cursors = await readCursors(ctx);
  const [pauses, troubles] = await Promise.all([readPauses(ctx, topics), troublesOf(ctx, topics, cursors)]);
  const lag = sweepLag(ctx, cursors);
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
      ...troubles(topic),
    };
  });
}

function pauseReport({ state, since, rate, by }: Pause, parked: number): NonNullable<TopicReport["pause"]> {
  return { state, since, parked, ...(by && { by }), ...(rate === undefined ? {} : { ratePerSecond: rate }) };
}

async function readCursors(ctx: Context): Promise<(Cursor | undefined)[]> {
  const { shards } = await knownShards(ctx);
  const keys = Array.from({ length: shards }, (_, shard) => cursorKey(shard));
  return (await ctx.pool.read(keys)) as (Cursor | undefined)[];
}

/** How far the slowest shard's sweep is behind `LOOKAHEAD` from now: ms. Two minutes are normal: docs/internals/decisions/audit.md. */
function sweepLag(ctx: Context, cursors: readonly (Cursor | undefined)[]): number {
  const now = ctx.clock();
  const positions = cursors.map((cursor) =>
    cursor && layoutTrouble(cursor) === undefined ? timeOf(cursor.swept) : now - AUDIT_AFTER,
  );
  return Math.max(0, now + LOOKAHEAD - Math.min(...positions));
}
