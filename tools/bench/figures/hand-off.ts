import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import { marshall } from "@aws-sdk/util-dynamodb";
import { BATCH_JOBS, BUCKET, DAY, LOOKAHEAD } from "../../../src/core/constants.ts";
import { cursorKey, minuteOf, sortable } from "../../../src/core/item-keys.ts";
import { type Cursor, ITEM_VERSION } from "../../../src/core/items.ts";
import { chunksOf } from "../../../src/general/batches.ts";
import { backlogsOf } from "../../../src/protocol/hand-over/backlog.ts";
import { sweepShard } from "../../../src/protocol/hand-over/sweep.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import type { Figure } from "../figure.ts";
import { homesOf, newJobs } from "../jobs.ts";
import { createQueue, emptyQueue } from "../plain-queue.ts";
import { sweepPlainly } from "../plain-sweep.ts";
import { attributesOf, createTable, insertAll } from "../plain-table.ts";
import { contextOf, type Rig } from "../rig.ts";
import { alternate, medianRatio } from "../rounds.ts";
import { median } from "../statistics.ts";
import { atLeast, perSecond, type Row } from "../table.ts";

const COUNT = 100_000;
const TOPIC = "bench-hand-off";
const LEAST = 0.9;
/** The sweep's clock starts this long before the minute of the jobs. So the sweep's limit is 20 s after the end of that minute. */
const AHEAD = LOOKAHEAD - BUCKET - 20_000;

/**
 * In a table and a queue of its own. The real sweep of all shards runs with a clock that begins `AHEAD` before the jobs' minute. The
 * ceiling reads the same items with plain queries and sends the same messages, as concurrently.
 */
export const handOff: Figure = {
  name: "hand-off",
  what: "the sweep alone, 100,000 due jobs",
  async measure(rig) {
    const count = rig.count(COUNT);
    const table = await createTable(rig.plain.dynamo, "bench-hand-off");
    const url = await createQueue(rig, TOPIC);
    const minute = minuteOf(Date.now()) + DAY;
    const ctx = contextOf(rig, { table, topics: { [TOPIC]: {} }, clock: clockFrom(minute - AHEAD) });
    await seed(rig, ctx, table, minute, count);

    const timed = async (sweep: () => Promise<unknown>): Promise<number> => {
      await resetCursors(rig, ctx, table, minute);
      await emptyQueue(rig, url);
      const began = performance.now();
      await sweep();
      const rate = (count / (performance.now() - began)) * 1000;
      rig.progress(`hand-off: ${perSecond(rate)}, ${await sentTo(rig, url)} messages`);
      return rate;
    };
    const shards = Array.from({ length: ctx.policy.shards }, (_, shard) => shard);
    const sweep = () =>
      Promise.all(shards.map((shard) => sweepShard(ctx, shard, Number.POSITIVE_INFINITY, backlogsOf(ctx))));
    const plainly = () =>
      Promise.all(
        shards.map((shard) => sweepPlainly(rig.plain, { table, url, minute, shard, topic: TOPIC })),
      );
    const { ours, ceiling } = await alternate(
      rig.rounds,
      () => timed(sweep),
      () => timed(plainly),
    );
    await emptyQueue(rig, url);
    return [rowOf(count, ours, ceiling)];
  },
};

function rowOf(count: number, ours: readonly number[], ceiling: readonly number[]): Row {
  const ratio = medianRatio(ours, ceiling);
  return {
    figure: `hand-off of ${count.toLocaleString("en")} due jobs`,
    ours: perSecond(median(ours)),
    ceiling: perSecond(median(ceiling)),
    ratio,
    aim: atLeast(ratio, LEAST),
  };
}

function clockFrom(start: number): () => number {
  const offset = start - Date.now();
  return () => Date.now() + offset;
}

/** Writes homes of jobs that are due evenly over one minute, as if they had been filed long before. */
async function seed(rig: Rig, ctx: Context, table: string, minute: number, count: number): Promise<void> {
  const jobs = newJobs(count, TOPIC, (index) => minute + Math.floor((index / count) * BUCKET));
  for (const some of chunksOf(jobs, 10 * BATCH_JOBS))
    await insertAll(rig.plain.dynamo, table, attributesOf(await homesOf(ctx, some)));
}

async function resetCursors({ plain }: Rig, ctx: Context, table: string, minute: number): Promise<void> {
  const swept = sortable(minute);
  for (let shard = 0; shard < ctx.policy.shards; shard++) {
    const cursor: Cursor = { ...cursorKey(shard), v: ITEM_VERSION, swept, audited: swept, trail: [] };
    await plain.dynamo.send(new PutItemCommand({ TableName: table, Item: marshall(cursor) }));
  }
}

async function sentTo({ plain }: Rig, url: string): Promise<string> {
  const { Attributes } = await plain.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["ApproximateNumberOfMessagesDelayed"] }),
  );
  return Attributes?.ApproximateNumberOfMessagesDelayed ?? "?";
}
