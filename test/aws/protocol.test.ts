import { randomBytes, randomUUID } from "node:crypto";
import { CreateQueueCommand, PurgeQueueCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dynamoClient, sqsClient } from "../../src/aws/clients.ts";
import { dynamoPool } from "../../src/aws/pool.ts";
import { sqsQueues } from "../../src/aws/queues.ts";
import { SIZES } from "../../src/core/work-sizes.ts";
import { TIMERS } from "../../src/environment/process.ts";
import { cancelByEvent } from "../../src/protocol/change/cancel-by-event.ts";
import { redrive } from "../../src/protocol/change/redrive.ts";
import { enqueue } from "../../src/protocol/file/enqueue.ts";
import { enqueueManyCounted } from "../../src/protocol/file/filing-limit.ts";
import { tick } from "../../src/protocol/hand-over/tick.ts";
import type { Context } from "../../src/protocol/ports.ts";
import type { ProtocolEvent } from "../../src/protocol/reports.ts";
import { receive } from "../../src/protocol/run/pull.ts";
import { settlePulled } from "../../src/protocol/run/settle-pulled.ts";
import { readJob } from "../../src/protocol/store/read-job.ts";
import { createTable } from "./contract-table.ts";
import { DATABASES, type Emulator, startDynamo, startSqs, useEndpoint } from "./emulators.ts";

const MINUTE = 60_000;

/** Runs the protocol on the emulators. The tests move the clock ahead, because they cannot wait for minutes. */
describe.each(DATABASES)("the protocol on the %s DynamoDB and SQS", (database) => {
  const emulators: Emulator[] = [];
  const events: ProtocolEvent[] = [];
  const sqs = () => sqsClient();
  let ahead = 0;
  let urlPrefix = "";
  let ctx: Context;

  beforeAll(async () => {
    const [dynamo, queues] = [await startDynamo(database), await startSqs()];
    emulators.push(dynamo, queues);
    useEndpoint("DYNAMODB", dynamo.endpoint);
    useEndpoint("SQS", queues.endpoint);
    const prefix = `protocol-${randomUUID().slice(0, 8)}-`;
    for (const name of ["work", "work_dlq"]) {
      const { QueueUrl = "" } = await sqs().send(new CreateQueueCommand({ QueueName: prefix + name }));
      if (name === "work") urlPrefix = QueueUrl.slice(0, -name.length);
    }
    const client = dynamoClient();
    const table = await createTable(client);
    // Each reading of the clock is one millisecond later, so a slow machine misses no deadline.
    let time = Date.now();
    const clock = (): number => ++time + ahead;
    ctx = {
      pool: dynamoPool({ client, table, clock }),
      queues: sqsQueues({ client: sqs(), urlPrefix }),
      clock,
      random: randomBytes,
      policy: {
        shards: 2,
        retention: 86_400,
        deadRetention: 14 * 86_400,
        topics: {
          work: { consumer: "pull", cancelledByEvents: true },
          bounded: { consumer: "pull", maxFiledPerMinute: 3 },
        },
      },
      sizes: SIZES,
      report: (event) => events.push(event),
    };
  });
  afterAll(() => Promise.all(emulators.map((emulator) => emulator.close())));

  const runTick = (): Promise<void> => tick(ctx, ctx.clock() + MINUTE);
  const pull = () => receive(ctx, "work", { max: 10, waitSeconds: 0 }, TIMERS);

  it("processes that file at the same time take no more jobs together than the topic allows in a minute", async () => {
    ahead += MINUTE - (ctx.clock() % MINUTE);
    const job = { topic: "bounded", body: "{}", dueAt: ctx.clock() + 60 * MINUTE };
    const processes = Array.from({ length: 4 }, () => ({ ...ctx, pool: { ...ctx.pool } }));
    const filed = await Promise.all(processes.map((one) => enqueueManyCounted(one, [job, job])));
    expect(filed.flat().filter((result) => !(result instanceof Error))).toHaveLength(3);
    expect(filed.flat()).toContainEqual(expect.objectContaining({ code: "too-many-filed" }));
  });

  it("a purged queue is filled again by the audit, and the job runs once", async () => {
    await runTick();
    const { home } = await enqueue(ctx, { topic: "work", body: "{}", dueAt: ctx.clock() });
    await sqs().send(new PurgeQueueCommand({ QueueUrl: `${urlPrefix}work` }));
    expect(await pull()).toEqual([]);
    for (let i = 0; i < 16; i++) {
      ahead += MINUTE;
      await runTick();
    }
    expect(events).toContainEqual(expect.objectContaining({ type: "audited", found: 1 }));
    const jobs = await pull();
    expect(jobs.map(({ id }) => id)).toEqual([home.id]);
    await settlePulled(ctx, "work", jobs[0]?.receipt ?? "", { end: "done" });
    expect(await readJob(ctx, home.id)).toMatchObject({ state: "done", attempt: 1 });
    for (let i = 0; i < 90; i++) {
      ahead += MINUTE;
      await runTick();
    }
    expect(await pull()).toEqual([]);
  });

  it("after an outage of a day, one tick sends all jobs that are due", async () => {
    const filed = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        enqueue(ctx, { topic: "work", body: "{}", dueAt: ctx.clock() + (10 + i * 60) * MINUTE }),
      ),
    );
    ahead += 24 * 60 * MINUTE;
    await runTick();
    const jobs = await pull();
    expect(new Set(jobs.map(({ id }) => id))).toEqual(new Set(filed.map(({ home }) => home.id)));
    for (const { receipt } of jobs) await settlePulled(ctx, "work", receipt, { end: "done" });
  });

  it("a keyed job that died is redriven under its key, and its letter leaves the DLQ", async () => {
    const key = "order-1";
    const { home } = await enqueue(ctx, {
      topic: "work",
      body: "{}",
      dueAt: ctx.clock(),
      key,
      maxAttempts: 1,
    });
    const [first] = await pull();
    await settlePulled(ctx, "work", first?.receipt ?? "", { end: "failed", error: "no", verb: "retry" });
    expect(await readJob(ctx, home.id)).toMatchObject({ state: "dead", lastError: "no" });
    expect(await redrive(ctx, "work", { max: 10, delay: 0 })).toEqual({ redriven: 1, left: 0 });
    const again = enqueue(ctx, { topic: "work", body: "{}", dueAt: ctx.clock(), key });
    await expect(again).rejects.toMatchObject({ code: "job-already-exists" });
    await runTick();
    expect(await ctx.queues.depth({ topic: "work", dead: true })).toMatchObject({ ready: 0, inFlight: 0 });
    const [second] = await pull();
    await settlePulled(ctx, "work", second?.receipt ?? "", { end: "done" });
    const next = await enqueue(ctx, { topic: "work", body: "{}", dueAt: ctx.clock(), key });
    expect(next.home.id).not.toBe(home.id);
  });

  it("a keyed job is postponed at most to its bound, and only once for the same Idempotency-Key", async () => {
    const now = ctx.clock();
    const job = { topic: "work", body: "{}", key: "search" };
    const asked = { ...job, onDuplicate: "postpone", maxDelay: MINUTE } as const;
    const first = await enqueue(ctx, { ...asked, dueAt: now + MINUTE / 2 });
    const once = { token: "t", hash: "h" };
    const second = await enqueue(ctx, { ...asked, dueAt: now + 10 * MINUTE, once });
    const { postponeUntil = 0 } = first.home;
    expect(second).toMatchObject({ outcome: "postponed", home: { dueAt: postponeUntil, postponeUntil } });
    expect(await enqueue(ctx, { ...asked, dueAt: now, once })).toMatchObject({ outcome: "replayed" });
    const replaced = await enqueue(ctx, { ...job, onDuplicate: "replace", dueAt: now + MINUTE / 2 });
    expect(await readJob(ctx, first.home.id)).toEqual(replaced.home);
    expect(replaced.home).not.toHaveProperty("postponeUntil");
  });

  it("an event cancels the job of its key, or leaves a tombstone, which a later event makes longer", async () => {
    const job = { topic: "work", body: "{}", key: "order-2", dueAt: ctx.clock() + MINUTE };
    const paid = (tombstone: number) => {
      const at = ctx.clock();
      return cancelByEvent(ctx, {
        id: `paid ${at}`,
        topic: "work",
        key: job.key,
        at,
        until: at + tombstone,
      });
    };
    const { home } = await enqueue(ctx, job);
    await paid(MINUTE);
    expect(await readJob(ctx, home.id)).toMatchObject({ state: "cancelled" });
    expect(await enqueue(ctx, job)).toMatchObject({ home: { state: "scheduled" } });
    await paid(MINUTE);
    ahead += 1000;
    for (const lasts of [MINUTE, 20 * MINUTE]) {
      await paid(lasts);
      const { home: filed } = await enqueue(ctx, job);
      expect(filed).toMatchObject({ state: "cancelled" });
      expect(await readJob(ctx, filed.id)).toEqual(filed);
      ahead += 2 * MINUTE;
    }
    expect(await enqueue(ctx, job)).toMatchObject({ home: { state: "cancelled" } });
    ahead += 20 * MINUTE;
    expect(await enqueue(ctx, job)).toMatchObject({ home: { state: "scheduled" } });
  });
});
