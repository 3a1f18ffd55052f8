import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { BUCKET, DAY, LOOKAHEAD } from "../../../src/core/constants.ts";
import { minuteOf } from "../../../src/core/item-keys.ts";
import { chunksOf } from "../../../src/general/batches.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import { homesOf, newJobs } from "../jobs.ts";
import { createQueue } from "../plain-queue.ts";
import { attributesOf, createTable, insertAll } from "../plain-table.ts";
import { contextOf, startRig } from "../rig.ts";
import { median } from "../statistics.ts";
import { JOBS, ROUNDS, rehearse, SHARDS } from "./cpu.ts";
import { TOPIC } from "./jobs.ts";
import type { CpuCosts } from "./lambda.ts";
import { cursorsAt } from "./run.ts";

/** Runs a tick of 20,000 jobs on the emulators, and says beside it what the model has for the same jobs. */
export async function checkAgainstEmulators({ call, swept }: CpuCosts): Promise<string> {
  const { calls, usage } = await rehearse("sweep");
  const emulated = await onEmulators();
  const rows = [
    ["requests of the tick", emulated.calls, calls],
    ["read units of DynamoDB", emulated.readUnits, usage.readUnits],
    ["requests to SQS", emulated.sqsRequests, usage.sqsRequests],
    ["CPU time of the tick, ms", emulated.cpuMs, calls * call + JOBS * swept],
  ] as const;
  const lines = rows.map(
    ([what, ...values]) => `| ${what} | ${values.map((value) => Math.round(value)).join(" | ")} |`,
  );
  return [`| a tick of ${JOBS} jobs | emulators | model |`, "| --- | --: | --: |", ...lines].join("\n");
}

async function onEmulators() {
  const rig = await startRig(true, () => {});
  try {
    const table = await createTable(rig.plain.dynamo, "scale-check");
    await createQueue(rig, TOPIC);
    const now = minuteOf(Date.now()) + DAY;
    const used = { calls: 0, readUnits: 0, sqsRequests: 0 };
    const ctx = contextOf(rig, {
      ...{ table, topics: { [TOPIC]: {} }, clock: () => now },
      onCapacity: (_, { read }) => {
        used.calls += 1;
        used.readUnits += read;
      },
      onRequest: () => {
        used.calls += 1;
        used.sqsRequests += 1;
      },
    });
    const due = now + LOOKAHEAD - BUCKET;
    const jobs = newJobs(JOBS, TOPIC, (index) => due + Math.floor((index * BUCKET) / JOBS));
    for (const some of chunksOf(jobs, 5000))
      await insertAll(rig.plain.dynamo, table, attributesOf(await homesOf(ctx, some)));
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      for (const Item of cursorsAt(now - BUCKET, SHARDS))
        await rig.plain.dynamo.send(new PutItemCommand({ TableName: table, Item }));
      Object.assign(used, { calls: 0, readUnits: 0, sqsRequests: 0 });
      const before = process.cpuUsage();
      await tick(ctx, Number.POSITIVE_INFINITY);
      const { user, system } = process.cpuUsage(before);
      rounds.push((user + system) / 1000);
    }
    return { ...used, cpuMs: median(rounds.slice(ROUNDS / 2)) };
  } finally {
    await rig.stack.stop();
  }
}
