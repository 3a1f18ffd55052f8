import { expect, test } from "vitest";
import { createTestQueue } from "../../src/testing/test-queue.ts";

const ALL = ["completed", "failed", "dead"] as const;
const fail = () => {
  throw new Error("no bank");
};

test("a topic with notify tells the ends of its attempts in order, without the job's body", async () => {
  const queue = createTestQueue({
    topics: { orders: { handler: fail, maxAttempts: 2, backoff: ["60s"], notify: ALL } },
  });
  const { id } = await queue.client.enqueue("orders", "secret", { delay: "30m", key: "17", tag: "sale" });
  await queue.advance("1d");
  const of = {
    version: 1,
    id,
    topic: "orders",
    key: "17",
    tag: "sale",
    createdAt: "2026-01-01T00:00:00.000Z",
  };
  const error = expect.stringContaining("no bank");
  const retryAt = "2026-01-01T00:31:00.000Z";
  expect(queue.events()).toEqual([
    {
      source: "minutehand.minutehand.orders",
      detailType: "JobFailed",
      detail: { ...of, attempt: 1, endedAt: "2026-01-01T00:30:00.000Z", error, retryAt },
    },
    {
      source: "minutehand.minutehand.orders",
      detailType: "JobDead",
      detail: { ...of, attempt: 2, endedAt: retryAt, error, dueAt: retryAt },
    },
  ]);
  expect(JSON.stringify(queue.events())).not.toContain("secret");
});

test("a topic without notify tells nothing, and a topic with it only the ends that it names", async () => {
  const queue = createTestQueue({
    topics: { quiet: { handler: fail }, orders: { handler: fail, maxAttempts: 2, notify: ["dead"] } },
  });
  for (const topic of ["quiet", "orders"] as const) await queue.client.enqueue(topic, 1, { delay: 0 });
  await queue.advance("7d");
  expect(queue.events()).toMatchObject([{ detailType: "JobDead", detail: { topic: "orders", attempt: 2 } }]);
});

test("a job that a test pulls is told by the call that settles it", async () => {
  const queue = createTestQueue({ topics: { work: { consumer: "pull", notify: ALL } }, prefix: "shop" });
  for (const body of [1, 2]) await queue.client.enqueue("work", body, { delay: 0 });
  await queue.advance(0);
  const [first, second] = await queue.client.receive("work", { max: 2 });
  await queue.client.finish("work", first?.receipt ?? "");
  expect(queue.events()).toMatchObject([{ source: "minutehand.shop.work", detailType: "JobCompleted" }]);
  await queue.client.retry("work", second?.receipt ?? "", { error: "later" });
  expect(queue.events().map(({ detailType }) => detailType)).toEqual(["JobCompleted", "JobFailed"]);
});

test("a job of one topic follows a job of another by its event", async () => {
  const told = { source: "minutehand.shop.orders", detailType: "JobCompleted" };
  const letters = { handler: () => {}, enqueueOn: { ...told, key: "$.detail.key", delay: "1h" } } as const;
  const queue = createTestQueue({
    topics: { orders: { handler: () => {}, notify: ["completed"] }, letters },
    prefix: "shop",
  });
  await queue.client.enqueue("orders", 1, { delay: "30m", key: "17" });
  await queue.advance("2h");
  expect(queue.runs()).toMatchObject([
    { topic: "orders", at: new Date("2026-01-01T00:30:00Z") },
    { topic: "letters", at: new Date("2026-01-01T01:30:00Z"), body: { key: "17" } },
  ]);
});

test("advance throws if a topic cannot use such an event", async () => {
  const told = { source: "minutehand.minutehand.orders", detailType: "JobCompleted" };
  const letters = { handler: () => {}, enqueueOn: { ...told, key: "$.detail.key", delay: "1h" } } as const;
  const queue = createTestQueue({
    topics: { orders: { handler: () => {}, notify: ["completed"] }, letters },
  });
  await queue.client.enqueue("orders", 1, { delay: 0 });
  await expect(queue.advance("1h")).rejects.toThrow("$.detail.key");
});

test("refuses a prefix that no queue can have", () => {
  const topics = { orders: { handler: fail } };
  expect(() => createTestQueue({ topics, prefix: "a b" })).toThrow(
    'prefix must be 1 to 24 letters, digits and -, got "a b"',
  );
});
