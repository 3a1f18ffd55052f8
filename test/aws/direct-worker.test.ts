import { randomUUID } from "node:crypto";
import { CreateQueueCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { dynamoClient, sqsClient } from "../../src/aws/clients.ts";
import { type DirectClient, directClient } from "../../src/client/direct-client.ts";
import { type DirectWorker, directWorker } from "../../src/client/direct-worker.ts";
import { encodeReceipt } from "../../src/core/receipt.ts";
import { createTable } from "./contract-table.ts";
import { DATABASES, type Emulator, startDynamo, startSqs, useEndpoint } from "./emulators.ts";
import { ok, scriptedService } from "./scripted-service.ts";

const DAY_SECONDS = 86_400;
const POLICY = JSON.stringify({
  shards: 2,
  retention: DAY_SECONDS,
  deadRetention: DAY_SECONDS,
  topics: { work: { consumer: "pull" }, events: { consumer: "pull", tracking: "none" } },
});

describe.each(DATABASES)("a direct worker on the %s DynamoDB and SQS", (database) => {
  const emulators: Emulator[] = [];
  let worker: DirectWorker;
  let producer: DirectClient;

  beforeAll(async () => {
    emulators.push(await startDynamo(database), await startSqs());
    const [dynamo, queues] = emulators;
    useEndpoint("DYNAMODB", dynamo?.endpoint ?? "");
    useEndpoint("SQS", queues?.endpoint ?? "");
    const prefix = `worker-${randomUUID().slice(0, 8)}-`;
    const sqs = sqsClient();
    const urls = await Promise.all(
      ["work", "work_dlq"].map(
        async (name) => (await sqs.send(new CreateQueueCommand({ QueueName: prefix + name }))).QueueUrl ?? "",
      ),
    );
    Object.assign(process.env, {
      MINUTEHAND_TABLE: await createTable(dynamoClient()),
      MINUTEHAND_QUEUE_URL_PREFIX: urls[0]?.slice(0, -"work".length),
      MINUTEHAND_POLICY: POLICY,
    });
    worker = directWorker();
    producer = directClient();
  });
  afterAll(() => Promise.all(emulators.map((emulator) => emulator.close())));

  it("waits for a job that is filed meanwhile, fails it, gets it again, and finishes it", async () => {
    const waiting = worker.receive("work", { max: 10, waitSeconds: 20 });
    const { id } = await producer.enqueue("work", { n: 1 }, { delay: 1 });
    const [first] = await waiting;
    expect(first).toMatchObject({ id, attempt: 1, body: { n: 1 } });
    await worker.retry("work", first?.receipt ?? "", { delay: 1, error: "busy" });
    const [second] = await worker.receive("work", { waitSeconds: 20 });
    expect(second).toMatchObject({ id, attempt: 2 });
    await worker.extend("work", second?.receipt ?? "", 60);
    await worker.finish("work", second?.receipt ?? "");
    expect(await producer.get(id)).toMatchObject({ state: "done", attempt: 2, lastError: "busy" });
  });

  it("buries a job, and answers no job when its time is over", async () => {
    const { id } = await producer.enqueue("work", null, { delay: 0 });
    const [job] = await worker.receive("work", { waitSeconds: 20 });
    await worker.bury("work", job?.receipt ?? "", { error: "broken" });
    expect(await producer.get(id)).toMatchObject({ state: "dead", lastError: "broken" });
    expect(await worker.receive("work", { waitSeconds: 1 })).toEqual([]);
  });
});

it("more calls than a client has sockets wait at once, and do not delay the other calls to SQS", async () => {
  const service = await scriptedService(({ operation }) =>
    operation === "ReceiveMessage" ? "hang" : ok({ Successful: [] }),
  );
  onTestFinished(service.close);
  useEndpoint("SQS", service.endpoint);
  useEndpoint("DYNAMODB", service.endpoint);
  Object.assign(process.env, {
    // At the end the service cuts all polls, and the worker would log each of them.
    POWERTOOLS_LOG_LEVEL: "SILENT",
    MINUTEHAND_TABLE: "jobs",
    MINUTEHAND_QUEUE_URL_PREFIX: "https://sqs/1/minutehand-",
    MINUTEHAND_POLICY: POLICY,
  });
  const worker = directWorker();
  for (let i = 0; i < 100; i++) void worker.receive("events", { waitSeconds: 20 }).catch(() => {});
  const polls = () => service.requests.filter(({ operation }) => operation === "ReceiveMessage").length;
  await expect.poll(polls).toBe(100);
  const job = { id: "01ARZ3NDEK00SV4RRFFQ69G5FA", revision: 0, attempt: 1, handle: "h" };
  const untracked = { topic: "events", receivedAt: Date.now() };
  expect(await worker.finish("events", encodeReceipt({ v: 1, ...job, ...untracked }))).toEqual({});
  expect(service.requests.at(-1)?.operation).toBe("DeleteMessageBatch");
});
