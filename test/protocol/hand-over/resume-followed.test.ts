import { expect, test, vi } from "vitest";
import type { Home } from "../../../core/items.ts";
import { beginBulk, runBulk } from "../../../protocol/change/bulk.ts";
import { pauseTopic } from "../../../protocol/change/pause.ts";
import { redrive } from "../../../protocol/change/redrive.ts";
import { resume } from "../../../protocol/hand-over/release.ts";
import { findLeftToReleases } from "../../../protocol/hand-over/sent-before.ts";
import { consume } from "../../support/consume.ts";
import { pull } from "../../support/scenes.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

/** Lambda follows its mapping a minute later: until then consumers leave the queue alone. */
function onLambda(topic: object): World {
  const world = createWorld({ topics: { t: topic } });
  Object.assign(world.ctx, { eventSources: { enable: async () => {} } });
  return world;
}
const limitedOnLambda = (): World => onLambda({ maxPerSecond: 2 });
const paused = (topic: object): Promise<World> => begun(onLambda(topic));

async function begun(world: World): Promise<World> {
  await world.tick();
  await pauseTopic(world.ctx, "t");
  await world.pass(10 * SECOND);
  for (let i = 0; i < 100; i++) await world.file({ topic: "t", delay: MINUTE + i });
  await world.pass(10 * MINUTE);
  return world;
}

/** How many start in each second, from `after` ms from now on. */
async function startsOf(world: World, after: number, run: () => Promise<unknown[]>): Promise<number[]> {
  await world.pass(after);
  const starts: number[] = [];
  for (let i = 0; i < 240; i++, await world.pass(SECOND)) {
    let count = 0;
    while (world.visible("t").length > 0) count += (await run()).length;
    starts.push(count);
  }
  return starts;
}
const sum = (starts: number[]): number => starts.reduce((all, some) => all + some, 0);

test.each([
  ["a limit", { maxPerSecond: 2 }, undefined],
  ["a limit, untracked", { maxPerSecond: 2, tracking: "none" }, undefined],
  ["the rate of the resume", {}, 2],
])("%s holds though Lambda polls a minute after the resume", async (_, topic, rate) => {
  const world = await paused(topic);
  await resume(world.ctx, "t", rate);
  // Of a job that is due in that minute, too.
  await world.file({ topic: "t", delay: 30 * SECOND });
  const starts = await startsOf(world, MINUTE - SECOND, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(101);
});

test("a limit holds though pullers look again ten seconds after the resume", async () => {
  const world = await paused({ maxPerSecond: 2, consumer: "pull", ttr: 600 });
  await resume(world.ctx, "t", undefined);
  const starts = await startsOf(world, 10 * SECOND, () => pull(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(100);
});

test("starts that were given before a pause are given anew when Lambda comes back after them", async () => {
  const world = limitedOnLambda();
  await world.tick();
  for (let i = 0; i < 150; i++) await world.file({ topic: "t", delay: 1 });
  await pauseTopic(world.ctx, "t");
  await world.pass(MINUTE + SECOND);
  await resume(world.ctx, "t", undefined);
  const starts = await startsOf(world, MINUTE - SECOND, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(150);
});

/** Lambda refuses a wish while it follows another one, and the next tick repeats what was refused. */
test("a limit holds though Lambda was at work on the pause as the topic was resumed", async () => {
  const world = limitedOnLambda();
  await world.tick();
  for (let i = 0; i < 300; i++) await world.file({ topic: "t", delay: MINUTE });
  await pauseTopic(world.ctx, "t");
  await world.pass(20 * SECOND);
  Object.assign(world.ctx, {
    eventSources: { enable: () => Promise.reject(new Error("it is being changed")) },
  });
  await resume(world.ctx, "t", undefined);
  const starts = await startsOf(world, 3 * MINUTE, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(300);
});

test("a limit holds though Lambda refuses the resume of a topic that was paused for long", async () => {
  const world = await paused({ maxPerSecond: 2 });
  Object.assign(world.ctx, {
    eventSources: { enable: () => Promise.reject(new Error("too many requests")) },
  });
  await resume(world.ctx, "t", undefined);
  const starts = await startsOf(world, 3 * MINUTE, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(100);
});

/** Until a tick tells Lambda, which follows a minute later. */
test("a limit holds though a resume dies before it has told Lambda", async () => {
  const world = await paused({ maxPerSecond: 2 });
  Object.assign(world.ctx, { eventSources: { enable: () => new Promise(() => {}) } });
  void resume(world.ctx, "t", undefined);
  await vi.waitFor(() => expect(world.events.at(-1)?.type).toBe("resumed"));
  Object.assign(world.ctx, { eventSources: { enable: async () => {} } });
  const starts = await startsOf(world, 2 * MINUTE, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(100);
});

test("a rate holds though a tick comes before Lambda's refusal of the resume", async () => {
  const world = await paused({});
  const refuse = async () => Promise.reject(new Error("too many requests"));
  let isFirst = true;
  const enable = async () => {
    if (isFirst) {
      isFirst = false;
      await world.tick();
    }
    return refuse();
  };
  Object.assign(world.ctx, { eventSources: { enable } });
  await resume(world.ctx, "t", 2);
  const starts = await startsOf(world, 3 * MINUTE, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(100);
});

test("a topic is followed in a minute though its pause was short, as Lambda was through with that", async () => {
  const world = limitedOnLambda();
  await world.tick();
  await pauseTopic(world.ctx, "t");
  await world.file({ topic: "t", delay: 0 });
  await world.pass(20 * SECOND);
  await resume(world.ctx, "t", undefined);
  expect(sum((await startsOf(world, MINUTE, () => consume(world, "t"))).slice(0, 2))).toBe(1);
});

test.each(["redrive", "bulk"])("the rate of a %s in that minute holds, too", async (how) => {
  const world = onLambda({ maxAttempts: 1 });
  await world.tick();
  for (let i = 0; i < 100; i++) await world.file({ topic: "t", delay: 0 });
  while (world.visible("t").length > 0)
    await consume(world, "t", { run: () => ({ end: "failed", error: "no bank" }) });
  await pauseTopic(world.ctx, "t");
  await world.pass(5 * MINUTE);
  await resume(world.ctx, "t", undefined);
  await world.pass(3 * SECOND);
  const ratePerSecond = 2;
  if (how === "redrive") await redrive(world.ctx, "t", { max: 100, delay: 0, ratePerSecond });
  else {
    const range = { from: 0, to: world.now() };
    const request = { action: "redrive", topic: "t", dryRun: false, ratePerSecond } as const;
    await runBulk(world.ctx, request, beginBulk(world.ctx, "redrive", range));
  }
  const starts = await startsOf(world, MINUTE - 4 * SECOND, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(100);
});

test("what a dead resume gave a start and did not send is left to the next release", async () => {
  const world = await paused({});
  const dying = { ...world.ctx, queues: { ...world.queues, send: () => new Promise<never>(() => {}) } };
  void resume(dying, "t", 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const homes = world.pool.items().filter((item): item is Home => "heldUntil" in item && "dueAt" in item);
  expect(homes.length).toBeGreaterThan(10);
  await world.pass(5 * MINUTE, { ticks: false });
  const { left } = await findLeftToReleases(world.ctx, homes);
  expect([...left].sort()).toEqual(homes.map(({ id }) => id).sort());
});

test("a job is not late for the minute in which Lambda follows a resume", async () => {
  const world = await paused({ ifLate: { after: 30, do: "skip" } });
  await resume(world.ctx, "t", undefined);
  expect(sum(await startsOf(world, MINUTE, () => consume(world, "t")))).toBe(100);
});

test("a job that is late beside that minute is skipped", async () => {
  const world = await paused({ ifLate: { after: 30, do: "skip" } });
  await resume(world.ctx, "t", undefined);
  expect(sum(await startsOf(world, MINUTE + 31 * SECOND, () => consume(world, "t")))).toBe(0);
});
