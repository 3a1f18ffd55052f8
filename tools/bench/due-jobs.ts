import { BATCH_JOBS } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { chunksOf } from "../../src/general/batches.ts";
import { enqueueMany } from "../../src/protocol/file/enqueue.ts";
import type { NewJob } from "../../src/protocol/new-job.ts";
import { policyOf } from "../../src/protocol/policy.ts";
import { homesOf } from "./jobs.ts";
import { messagesOf, sendAll } from "./plain-queue.ts";
import { attributesOf, insertAll } from "./plain-table.ts";
import type { Rig } from "./rig.ts";

/** Files jobs as a producer does, and sends those that are near. Throws if a job was not filed. */
export async function fileJobs({ ctx }: Pick<Rig, "ctx">, jobs: readonly NewJob[]): Promise<Home[]> {
  const homes: Home[] = [];
  for (const some of chunksOf(jobs, BATCH_JOBS)) {
    for (const result of await enqueueMany(ctx, some)) {
      if (result instanceof Error) throw result;
      homes.push(result.home);
    }
  }
  return homes;
}

/** Files jobs for the ceiling with the plain SDK: the items and messages are those of `fileJobs`, and the queue is the one at `url`. */
export async function filePlainly(
  { ctx, plain, stack }: Rig,
  url: string,
  jobs: readonly NewJob[],
): Promise<Home[]> {
  const homes: Home[] = [];
  for (const some of chunksOf(jobs, BATCH_JOBS)) {
    const batch = await homesOf(ctx, some);
    const topic = some[0]?.topic ?? "";
    await insertAll(plain.dynamo, stack.tableName, attributesOf(batch));
    await sendAll(plain.sqs, url, messagesOf(topic, policyOf(ctx, topic), batch));
    homes.push(...batch);
  }
  return homes;
}
