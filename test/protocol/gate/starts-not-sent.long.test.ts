import { expect, test } from "vitest";
import { pauseTopic, resumeTopic } from "../../../src/protocol/change/pause.ts";
import { enqueue, enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import type { NewJob } from "../../../src/protocol/new-job.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

const LIMIT = 20;
const TOPICS = { calls: { maxPerSecond: LIMIT, precision: "millisecond" } } as const;

/** Jobs that are due now, each with a key of its own. */
function keyedJobs(world: World, count: number, more: Partial<NewJob>): NewJob[] {
  return Array.from(
    { length: count },
    (_, n): NewJob => ({ topic: "calls", key: `k${n}`, body: "{}", dueAt: world.now(), ...more }),
  );
}

/** Consumes for `ms`, ten times a second, and answers the most runs of a second. */
async function mostRunsInASecond(world: World, ms: number, topic = "calls"): Promise<number> {
  const seconds = new Map<number, number>();
  for (const end = world.now() + ms; world.now() < end; await world.pass(100))
    for (const { at } of await consume(world, topic)) {
      const second = Math.floor(at / SECOND);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
    }
  return Math.max(0, ...seconds.values());
}

/** How many starts all limits have counted. */
function countedStarts(world: World): number {
  const counters = world.pool.items().filter(({ pk }) => pk.startsWith("starts#"));
  const starts = counters.flatMap((item) =>
    Object.entries(item).flatMap(([name, count]) => (/^s\d+$/.test(name) ? Number(count) : [])),
  );
  return starts.reduce((sum, count) => sum + count, 0);
}

test("jobs that SQS did not take keep their topic's limit when a repeated call sends them", async () => {
  const world = createWorld({ topics: TOPICS });
  const jobs = keyedJobs(world, 200, { onDuplicate: "keep" });
  world.queues.trouble("all", "unreachable");
  await enqueueMany(world.ctx, jobs);
  await world.pass(50 * SECOND, { ticks: false });
  world.queues.trouble("all", undefined);
  await enqueueMany(world.ctx, jobs);
  expect(await mostRunsInASecond(world, 5 * MINUTE)).toBe(LIMIT);
});

test("debounced jobs past their bound keep their topic's limit when SQS has taken no messages for a while", async () => {
  const world = createWorld({ topics: TOPICS });
  const call = (): Promise<unknown> =>
    enqueueMany(
      world.ctx,
      keyedJobs(world, 100, {
        dueAt: world.now() + 20 * SECOND,
        onDuplicate: "postpone",
        maxDelay: 10 * SECOND,
      }),
    );
  await world.pass(2 * MINUTE + 2 * SECOND);
  world.queues.trouble("all", "failing");
  await call();
  for (let i = 0; i < 3; i++) {
    await world.pass(15 * SECOND, { ticks: false });
    await call();
  }
  world.queues.trouble("all", undefined);
  await call();
  expect(await mostRunsInASecond(world, 12 * MINUTE)).toBeLessThanOrEqual(LIMIT);
});

test("jobs that wait in the queue take few starts, though callers repeat a `keep` for each of them every second", async () => {
  const world = createWorld({ topics: TOPICS });
  const jobs = keyedJobs(world, 20, { onDuplicate: "keep" });
  for (let second = 0; second < 120; second++) {
    await enqueueMany(world.ctx, jobs);
    await world.pass(SECOND, { ticks: false });
  }
  expect(countedStarts(world)).toBeLessThanOrEqual(4 * jobs.length);
});

test.each([
  ["once", false],
  ["twice, the second time by a repeated call", true],
])(
  "jobs that SQS did not take keep their topic's limit though other messages are ready when a sweep sends them: refused %s",
  async (_, isRepeated) => {
    const world = createWorld({ shards: 1, topics: TOPICS });
    await world.pass(2 * MINUTE + 10 * SECOND);
    world.queues.trouble("all", "failing");
    const jobs = keyedJobs(world, 16, { onDuplicate: "keep" });
    await enqueueMany(world.ctx, jobs);
    // The repeated call comes while most starts still lie ahead, so it sends these jobs too. The jobs are few, so that one slice of a page
    // has both looks of a job.
    if (isRepeated) {
      await world.pass(300, { ticks: false });
      await enqueueMany(world.ctx, jobs);
    }
    await world.pass(MINUTE, { ticks: false });
    world.queues.trouble("all", undefined);
    // The sweep that comes to the looks finds more ready messages than a queue without a backlog has.
    const looks = world.pool
      .items()
      .flatMap(({ sk }) => (sk.endsWith("#look") ? Number(sk.slice(0, 13)) : []));
    await world.pass(Math.max(...looks) + SECOND - 3 * MINUTE - world.now(), { ticks: false });
    for (let i = 0; i < 15; i++) await world.file({ topic: "calls" });
    await world.tick();
    expect(await mostRunsInASecond(world, 12 * MINUTE)).toBeLessThanOrEqual(LIMIT);
  },
);

test.each([
  ["a topic without options", {}],
  ["a topic with a window", { window: "00:00-23:59 UTC" }],
])("a parked job of %s stays parked when a repeated call keeps it", async (_, more) => {
  const world = createWorld({ topics: { orders: { ...more, ifLate: { after: 60, do: "skip" } } } });
  await pauseTopic(world.ctx, "orders");
  await world.pass(10 * SECOND);
  for (let i = 0; i < 300; i++) await world.file({ topic: "orders" });
  const job: NewJob = {
    topic: "orders",
    key: "invoice-7",
    body: "{}",
    dueAt: world.now() + 2 * MINUTE,
    onDuplicate: "keep",
  };
  const { home } = await enqueue(world.ctx, job);
  await world.pass(30 * SECOND);
  await resumeTopic(world.ctx, "orders", 1);
  await mostRunsInASecond(world, 200 * SECOND, "orders");
  await enqueue(world.ctx, job);
  await mostRunsInASecond(world, 6 * MINUTE, "orders");
  expect(await world.home(home.id)).toMatchObject({ state: "done" });
});

test("jobs that SQS has not taken for two hours do not all start with the few messages that lay in the queue", async () => {
  const [left, perMinute] = [15, 20];
  const world = createWorld({ shards: 2, topics: TOPICS });
  await world.pass(2 * MINUTE);
  for (let n = 0; n < left; n++) await world.file({ topic: "calls" });
  await world.pass(20 * SECOND, { ticks: false });
  world.queues.trouble({ topic: "calls" }, "failing");
  for (let minute = 0; minute < 125; minute++) {
    if (minute < 120) for (let n = 0; n < perMinute; n++) await world.file({ topic: "calls" });
    await world.pass(MINUTE);
  }
  world.queues.trouble({ topic: "calls" }, undefined);
  await world.pass(MINUTE - (world.now() % MINUTE));
  await world.tick();
  expect(await mostRunsInASecond(world, 30 * MINUTE)).toBeLessThanOrEqual(2 * left + LIMIT);
});
