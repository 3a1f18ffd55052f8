import { BUCKET, NEAR } from "../../../src/core/constants.ts";
import { minuteOf } from "../../../src/core/item-keys.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { TopicPolicy } from "../../../src/settings/policy.ts";
import { fileJobs } from "../due-jobs.ts";
import type { Figure } from "../figure.ts";
import { newJobs } from "../jobs.ts";
import { type Bill, consume, meter, NOTHING } from "../metered.ts";
import { createQueue } from "../plain-queue.ts";
import { createTable } from "../plain-table.ts";
import type { Rig } from "../rig.ts";
import { atMost, type Row } from "../table.ts";

const COUNT = 1000;

/** A scenario whose jobs are filed, run and settled. `far`: they are filed so early that a sweep sends them. */
type Life = { topic: string; policy: Partial<TopicPolicy>; count: number; far: boolean };

/** Runs the real consumer in this process. Measures for each job the units that DynamoDB reports, and the requests to SQS. */
export const units: Figure = {
  name: "units",
  what: "write units, read units and SQS requests per job",
  async measure(rig) {
    const bill = (life: Life) => billOf(rig, life);
    const alone = await bill({ topic: "bench-alone", policy: {}, count: 1, far: false });
    const packed = await bill({ topic: "bench-packed", policy: {}, count: COUNT, far: false });
    const single = await bill({ topic: "bench-single", policy: { pack: 1 }, count: COUNT, far: false });
    const swept = await bill({ topic: "bench-swept", policy: {}, count: COUNT, far: true });
    const untracked = await bill({
      topic: "bench-untracked",
      policy: { tracking: "none" },
      count: COUNT,
      far: true,
    });
    return [
      exactRow("write units: one tracked job, enqueued, run, done", alone.write, 3),
      exactRow("write units per tracked job in a burst", packed.write, 3),
      exactRow("write units per tracked job, filed ahead and swept", swept.write, 3),
      exactRow("write units per untracked job, filed ahead and swept", untracked.write, 1),
      {
        figure: "write units per sweep of 8 shards for its cursors, however many jobs",
        ours: rounded(swept.cursors),
      },
      { figure: "read units per job sent by its writer", ours: rounded(packed.read) },
      { figure: "read units per job, filed ahead and swept", ours: rounded(swept.read) },
      { figure: "SQS requests: one job alone", ours: rounded(alone.requests) },
      {
        figure: "SQS requests per job in a burst, full packs",
        ours: rounded(packed.requests),
        aim: atMost(packed.requests, 0.05),
      },
      {
        figure: "SQS requests per job in a burst, no packs",
        ours: rounded(single.requests),
        aim: atMost(single.requests, 0.31),
      },
    ];
  },
};

async function billOf(rig: Rig, { topic, policy, count, far }: Life): Promise<Bill> {
  // Each scenario gets a table of its own, because the clock of a scenario may move the cursors in its table ahead.
  const table = await createTable(rig.plain.dynamo, topic);
  await createQueue(rig, topic);
  let offset = 0;
  const clock = () => Date.now() + offset;
  const { ctx, bill } = meter(rig, { table, topics: { [topic]: policy }, clock });
  // Brings the cursors up to the present, so that no job pays for minutes of an idle shard.
  await tick(ctx, Number.POSITIVE_INFINITY);
  const dueAt = far ? minuteOf(clock() + NEAR + BUCKET) + BUCKET - 1000 : clock();
  bill();
  const spent = { ...NOTHING };
  const add = ({ write, cursors, read, requests }: Bill): void => {
    spent.write += write / count;
    spent.cursors += cursors;
    spent.read += read / count;
    spent.requests += requests / count;
  };
  await fileJobs(
    { ctx },
    newJobs(count, topic, () => dueAt),
  );
  add(bill());
  if (far) {
    offset = dueAt - Date.now();
    await tick(ctx, Number.POSITIVE_INFINITY);
    add(bill());
  }
  await consume(ctx, topic, count);
  add(bill());
  return spent;
}

function exactRow(figure: string, value: number, wanted: number): Row {
  return { figure, ours: rounded(value), aim: { text: `${wanted}`, met: Math.abs(value - wanted) < 1e-9 } };
}

function rounded(value: number): string {
  return String(Math.round(value * 10_000) / 10_000);
}
