import { directOn } from "../../../src/client/direct-client.ts";
import { BATCH_JOBS } from "../../../src/core/constants.ts";
import type { Figure } from "../figure.ts";
import { httpClient } from "../http-client.ts";
import { BODY, FAR, homesOf, newJobs } from "../jobs.ts";
import { load } from "../load.ts";
import { attributesOf, insertAll } from "../plain-table.ts";
import type { Rig } from "../rig.ts";
import { alternate, medianRatio, type Rounds } from "../rounds.ts";
import { median } from "../statistics.ts";
import { atLeast, perSecond, type Row } from "../table.ts";

const COUNT = 15_000;
const CALLERS = 2;
const TOPIC = "reminders";
const LEAST = 0.8;

/** The ceiling is `BatchExecuteStatement` with 25 inserts of the same items, which are converted beforehand. */
export const batch: Figure = {
  name: "batch",
  what: `batches of ${BATCH_JOBS} jobs, ${CALLERS} callers`,
  async measure(rig) {
    const jobs = Array.from({ length: BATCH_JOBS }, () => ({
      topic: TOPIC,
      delay: "1d" as const,
      body: BODY,
    }));
    const post = httpClient(rig.stack.url, CALLERS);
    const client = directOn(rig.ctx, console);
    const calls = Math.ceil(rig.count(COUNT) / BATCH_JOBS);
    const overHttp = (count: number) => load(count, CALLERS, () => post("/jobs/batch", { jobs }));
    const direct = (count: number) =>
      load(count, CALLERS, async () => {
        for (const result of await client.enqueueMany(jobs)) if (result instanceof Error) throw result;
      });
    const plain = async () =>
      insertAll(rig.plain.dynamo, rig.stack.tableName, await itemsOf(rig, calls * BATCH_JOBS));

    await overHttp(4);
    await direct(4);
    await plain();
    const rate = async (loads: ReturnType<typeof load>) => (await loads).perSecond * BATCH_JOBS;
    const inside = await alternate(rig.rounds, () => rate(direct(calls)), plain);
    const http = await alternate(rig.rounds, () => rate(overHttp(calls)), plain);
    return [
      {
        ...row("batch enqueue through the direct client", inside),
        aim: atLeast(medianRatio(inside.ours, inside.ceiling), LEAST),
      },
      row("batch enqueue over HTTP", http),
    ];
  },
};

async function itemsOf({ ctx }: Rig, count: number) {
  return attributesOf(
    await homesOf(
      ctx,
      newJobs(count, TOPIC, () => Date.now() + FAR),
    ),
  );
}

function row(figure: string, { ours, ceiling }: Rounds<number>): Row {
  return {
    figure: `${figure}, jobs`,
    ours: perSecond(median(ours)),
    ceiling: perSecond(median(ceiling)),
    ratio: medianRatio(ours, ceiling),
  };
}
