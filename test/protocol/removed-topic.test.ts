import { expect, test } from "vitest";
import { enqueueMany } from "../../protocol/enqueue.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "./world.ts";

const SLOW = { maxPerSecond: 1 / 30 };

/** Jobs that wait for a slow limit, in a topic that a deploy then takes away: nobody may send to its queue. */
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

test("a topic that is away for five minutes kills no job, however long the jobs have waited before", async () => {
  const world = await withoutTopic(90 * MINUTE, 5 * MINUTE);
  expect(dead(world)).toBe(0);
  const ids = (): Set<string> => new Set(world.visible("t").map(({ id }) => id));
  const before = ids();
  await world.pass(10 * MINUTE);
  expect(ids().size).toBeGreaterThan(before.size);
});

test("a job is dead when its topic has been away for an hour", async () => {
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
