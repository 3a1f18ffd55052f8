import { expect, test } from "vitest";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const SLOW = { maxPerSecond: 1 / 30 };

/** Jobs wait for a slow limit. Then a deployment removes their topic, so no process may send to its queue. */
async function withoutTopic(waited: number, gone: number): Promise<World> {
  const world = createWorld({ shards: 1, topics: { t: SLOW, other: {} } });
  await world.tick();
  const jobs = Array.from({ length: 300 }, () => ({ topic: "t", body: "{}", dueAt: world.now() }));
  await enqueueMany(world.ctx, jobs);
  await world.pass(waited);
  const topics = world.ctx.policy.topics as Record<string, object>;
  delete topics.t;
  world.queues.trouble({ topic: "t" }, "failing");
  await world.pass(gone);
  topics.t = SLOW;
  world.queues.trouble({ topic: "t" }, undefined);
  return world;
}

const dead = (world: World): number =>
  world.pool.items().filter((item) => "state" in item && item.state === "dead").length;

test("a topic that is removed for five minutes makes no job dead, however long the jobs have waited before", async () => {
  const world = await withoutTopic(90 * MINUTE, 5 * MINUTE);
  expect(dead(world)).toBe(0);
  while ((await consume(world, "t")).length > 0);
  await world.pass(10 * MINUTE);
  expect(world.visible("t")).not.toEqual([]);
});

test("a job is dead when its topic has been removed for an hour", async () => {
  const world = createWorld({ shards: 1, topics: { t: {}, other: {} } });
  await world.tick();
  const { id } = await world.file({ topic: "t", delay: 20 * MINUTE });
  delete (world.ctx.policy.topics as Record<string, object>).t;
  world.queues.trouble({ topic: "t" }, "failing");
  await world.pass(HOUR);
  expect(await world.home(id)).toMatchObject({ state: "scheduled" });
  await world.pass(90 * MINUTE + SECOND);
  expect(await world.home(id)).toMatchObject({ state: "dead" });
});

test("no job that waits for a limit is lost while its topic is removed for minutes", async () => {
  const limited = { maxPerSecond: 1 / 10, ifLate: { after: 120, do: "skip" } } as const;
  const world = createWorld({ shards: 1, topics: { t: limited, other: {} } });
  await world.tick();
  const jobs = Array.from({ length: 100 }, () => ({ topic: "t", body: "{}", dueAt: world.now() }));
  await enqueueMany(world.ctx, jobs);
  const run = async (ms: number): Promise<void> => {
    for (const end = world.now() + ms; world.now() < end; ) {
      await world.pass(5 * SECOND);
      await consume(world, "t");
    }
  };
  await run(5 * MINUTE);
  const topics = world.ctx.policy.topics as Record<string, object>;
  delete topics.t;
  world.queues.trouble({ topic: "t" }, "failing");
  await world.pass(5 * MINUTE);
  topics.t = limited;
  world.queues.trouble({ topic: "t" }, undefined);
  await run(20 * MINUTE);
  const states = world.pool.items().flatMap((item) => ("state" in item ? [item.state] : []));
  // Jobs that already had a start in the next minute when the topic was removed may have lost that start.
  expect(states.filter((state) => state === "done").length).toBeGreaterThanOrEqual(jobs.length - 8);
});

test("parked jobs of a topic that is not added again are dead in the end", async () => {
  const world = await withoutTopic(MINUTE, 12 * HOUR);
  expect(world.pool.items().filter((item) => "state" in item && item.state === "scheduled")).toEqual([]);
  expect(dead(world)).toBeGreaterThan(200);
});
