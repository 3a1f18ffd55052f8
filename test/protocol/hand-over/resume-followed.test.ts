import { expect, test } from "vitest";
import type { Home } from "../../../src/core/home.ts";
import { beginBulk } from "../../../src/protocol/change/begin-bulk.ts";
import { runBulk } from "../../../src/protocol/change/bulk.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { topicsNow } from "../../../src/protocol/gate/known-pauses.ts";
import { findLeftToReleases } from "../../../src/protocol/hand-over/find-parked.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { consume } from "../../support/consume.ts";
import { pull } from "../../support/scenes.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

/** Lambda starts to poll a minute after a resume. Until then consumers receive nothing. */
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

/** How many jobs start in each second, beginning `after` ms from now. */
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
  ["the rate of the resume", {}, 2],
])("%s applies although Lambda polls only a minute after the resume", async (_, topic, rate) => {
  const world = await paused(topic);
  await resume(world.ctx, "t", rate);
  // A job that is due in that minute is released too.
  await world.file({ topic: "t", delay: 30 * SECOND });
  const starts = await startsOf(world, MINUTE - SECOND, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(101);
});

test("a limit applies although pullers receive again only ten seconds after the resume", async () => {
  const world = await paused({ maxPerSecond: 2, consumer: "pull", ttr: 600 });
  await resume(world.ctx, "t", undefined);
  const starts = await startsOf(world, 10 * SECOND, () => pull(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(100);
});

test("jobs get new starts when Lambda polls again after the starts that they got before a pause", async () => {
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

/** Lambda refuses a request while it carries out another one, and the next tick repeats the refused request. */
test("a limit applies although Lambda still carried out the pause when the topic was resumed", async () => {
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

test("a limit applies although Lambda refuses the resume of a topic that was paused for long", async () => {
  const world = await paused({ maxPerSecond: 2 });
  Object.assign(world.ctx, {
    eventSources: { enable: () => Promise.reject(new Error("too many requests")) },
  });
  await resume(world.ctx, "t", undefined);
  const starts = await startsOf(world, 3 * MINUTE, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(100);
});

/** After such a resume the next tick asks Lambda to poll, and Lambda polls a minute later. */
test("a limit applies although a resume dies before it asks Lambda to poll", async () => {
  const world = await paused({ maxPerSecond: 2 });
  Object.assign(world.ctx, { eventSources: { enable: () => new Promise(() => {}) } });
  void resume(world.ctx, "t", undefined);
  await expect.poll(() => world.events.at(-1)?.type).toBe("resumed");
  Object.assign(world.ctx, { eventSources: { enable: async () => {} } });
  const starts = await startsOf(world, 2 * MINUTE, () => consume(world, "t"));
  expect(Math.max(...starts)).toBeLessThanOrEqual(3);
  expect(sum(starts)).toBe(100);
});

test("a rate applies although a tick comes before Lambda refuses the resume", async () => {
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

test("Lambda polls a minute after the resume of a short pause, if it had carried out the pause by then", async () => {
  const world = limitedOnLambda();
  await world.tick();
  await pauseTopic(world.ctx, "t");
  await world.file({ topic: "t", delay: 0 });
  await world.pass(20 * SECOND);
  await resume(world.ctx, "t", undefined);
  expect(sum((await startsOf(world, MINUTE, () => consume(world, "t"))).slice(0, 2))).toBe(1);
});

test.each(["redrive", "bulk"])(
  "the rate of a %s in the minute after the resume applies, too",
  async (how) => {
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
  },
);

test("jobs to which a resume gave a start before it died unsent are left to the next release", async () => {
  const world = await paused({});
  const dying = { ...world.ctx, queues: { ...world.queues, send: () => new Promise<never>(() => {}) } };
  void resume(dying, "t", 1);
  // The work before a send needs no timers, so it has happened before the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  const homes = world.pool.items().filter((item): item is Home => "heldUntil" in item && "dueAt" in item);
  expect(homes.length).toBeGreaterThan(10);
  await world.pass(5 * MINUTE, { ticks: false });
  const { left } = await findLeftToReleases(world.ctx, homes, await topicsNow(world.ctx, ["t"]), new Set());
  expect([...left].sort()).toEqual(homes.map(({ id }) => id).sort());
});

test("the minute that Lambda takes to poll after a resume does not count as lateness", async () => {
  const world = await paused({ ifLate: { after: 30, do: "skip" } });
  await resume(world.ctx, "t", undefined);
  expect(sum(await startsOf(world, MINUTE, () => consume(world, "t")))).toBe(100);
});

test("a job that is late without that minute is skipped", async () => {
  const world = await paused({ ifLate: { after: 30, do: "skip" } });
  await resume(world.ctx, "t", undefined);
  expect(sum(await startsOf(world, MINUTE + 31 * SECOND, () => consume(world, "t")))).toBe(0);
});
