import { expect, test } from "vitest";
import type { TopicPolicy } from "../../../core/policy.ts";
import { enqueue } from "../../../protocol/file/enqueue.ts";
import { tick } from "../../../protocol/hand-over/tick.ts";
import type { Context } from "../../../protocol/ports.ts";
import { consume } from "../../support/consume.ts";
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

test("an untracked job that was parked is sent once when no other job waits any more", async () => {
  const world = createWorld({ topics: { t: LIMITED } });
  // Another process, with its own memory of the topic.
  const api: Context = { ...world.ctx, pool: Object.create(world.pool) };
  await world.tick();
  for (let i = 0; i < 160; i++) await world.file({ topic: "t" });
  await world.pass(118 * SECOND);
  await enqueue(api, { topic: "t", body: "{}", dueAt: world.now() });
  // This tick releases the last jobs, but for five seconds the API still uses what it read before.
  await world.pass(4 * SECOND);
  const { home } = await enqueue(api, { topic: "t", body: "{}", dueAt: world.now() + 200 * SECOND });
  expect((await runs(world, world.ctx)).get(home.id)).toBe(1);
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
