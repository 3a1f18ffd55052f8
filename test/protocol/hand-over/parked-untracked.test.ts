import { expect, test } from "vitest";
import { parkedKey } from "../../../core/items.ts";
import type { TopicPolicy } from "../../../core/policy.ts";
import { enqueue } from "../../../protocol/file/enqueue.ts";
import { release } from "../../../protocol/hand-over/release.ts";
import { tick } from "../../../protocol/hand-over/tick.ts";
import type { Context } from "../../../protocol/ports.ts";
import { consume } from "../../support/consume.ts";
import { isAt, meanwhile } from "../../support/scenes.ts";
import { sweepAll } from "../../support/sweep-all.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

const LIMITED: Partial<TopicPolicy> = { tracking: "none", maxPerSecond: 1 };

/** Lets ten minutes pass, with ticks and consumers that have the policy of `ctx`. Answers how often each job ran. */
async function runs(world: World, ctx: Context): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let second = 0; second < 600; second++) {
    await world.pass(SECOND, { ticks: false });
    if (world.now() % MINUTE === 0) await tick(ctx, world.now() + MINUTE);
    for (const { id } of await consume(world, "t", { ctx })) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Another process, with its own memory of the topic. */
const processOf = ({ ctx, pool }: World): Context => ({ ...ctx, pool: Object.create(pool) });

/** A topic whose parked jobs the tick in two seconds releases, all of them. The process `api` has read that jobs wait. */
async function lastReleaseAhead(): Promise<{ world: World; api: Context }> {
  const world = createWorld({ topics: { t: LIMITED } });
  const api = processOf(world);
  await world.tick();
  for (let i = 0; i < 160; i++) await world.file({ topic: "t" });
  await world.pass(118 * SECOND);
  await enqueue(api, { topic: "t", body: "{}", dueAt: world.now() });
  return { world, api };
}

test("a job that is filed just after the last release of its topic is sent at once", async () => {
  const { world, api } = await lastReleaseAhead();
  await world.pass(4 * SECOND);
  const dueAt = world.now() + 50 * SECOND;
  const { home } = await enqueue(api, { topic: "t", body: "{}", dueAt });
  expect(world.queues.messages({ topic: "t" }).at(-1)).toMatchObject({
    body: expect.stringContaining(home.id),
    visibleAt: dueAt,
  });
});

test("an untracked job that is parked during the last release of its topic is sent once", async () => {
  const { world, api } = await lastReleaseAhead();
  // The process has just read that jobs wait. A tick that sweeps the job's minute and then releases the waiting jobs comes before the
  // note is written.
  meanwhile(world, isAt("paused#", "insert"), () => world.pass(2 * SECOND));
  const { home } = await enqueue(api, { topic: "t", body: "{}", dueAt: world.now() + 170 * SECOND });
  expect(world.pool.items()).toContainEqual(expect.objectContaining(parkedKey(home)));
  expect((await runs(world, world.ctx)).get(home.id)).toBe(1);
});

test("untracked jobs that a release sends while a late sweep reads them are sent once", async () => {
  const world = createWorld({ shards: 1, topics: { t: LIMITED } });
  await world.tick();
  for (let i = 0; i < 30; i++) await world.file({ topic: "t", delay: 190 * SECOND });
  // Two ticks are missed. So the next tick sweeps these jobs and releases some of them at the same time.
  await world.pass(130 * SECOND, { ticks: false });
  meanwhile(world, isAt("paused#", "read"), () => release(world.ctx, "t", undefined, world.now() + MINUTE));
  await sweepAll(world.ctx, 0, world.now() + MINUTE);
  expect([...(await runs(world, world.ctx)).values()]).toEqual(Array.from({ length: 30 }, () => 1));
});

test.each<[string, Partial<TopicPolicy>, Partial<TopicPolicy>]>([
  ["its topic's window", { ...LIMITED, window: "10:00-12:00 UTC" }, LIMITED],
  ["window and limit", { ...LIMITED, window: "10:00-12:00 UTC" }, { tracking: "none" }],
  ["the window and makes the topic tracked", { ...LIMITED, window: "10:00-12:00 UTC" }, { maxPerSecond: 1 }],
])("an untracked job that was parked is sent once when a deployment removes %s", async (_, before, after) => {
  const world = createWorld({ topics: { t: before } });
  await world.tick();
  await world.pass(20 * SECOND);
  const { id } = await world.file({ topic: "t", dueAt: world.now() + 200 * SECOND });
  const ctx: Context = { ...world.ctx, policy: { ...world.ctx.policy, topics: { t: after } } };
  expect((await runs(world, ctx)).get(id)).toBe(1);
});
