import { describe, expect, test } from "vitest";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { fileLooks } from "../../../src/protocol/store/looks.ts";
import { consume, type Run } from "../../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const COUNT = 400;

/** The runs from now on, with a consumer that always works. */
async function runsWithin(world: World, ms: number): Promise<Run[]> {
  const runs: Run[] = [];
  for (const end = world.now() + ms; world.now() < end; await world.pass(SECOND))
    while (world.visible("t").length > 0) runs.push(...(await consume(world, "t")));
  return runs;
}

/** A world whose topic is paused while jobs of it expire. */
async function withExpired(topic: object): Promise<World> {
  const world = createWorld({ topics: { t: topic } });
  await world.tick();
  await pauseTopic(world.ctx, "t");
  for (let i = 0; i < COUNT; i++)
    await world.file({ topic: "t", delay: 2 * MINUTE + i, expiresAfter: 30 * SECOND });
  return world;
}

/** Jobs expire while they wait. Answers when a job runs that is filed after that. */
async function startsOfLater(world: World): Promise<number> {
  const later = await world.file({ topic: "t", delay: SECOND });
  const runs = await runsWithin(world, 4 * MINUTE);
  const [run, ...others] = runs;
  expect(others).toEqual([]);
  expect(run?.id).toBe(later.id);
  return (run?.at ?? 0) - later.dueAt;
}

describe("jobs that have expired", () => {
  test("take no starts of their topic's limit", async () => {
    const world = await withExpired({ maxPerSecond: 1 });
    await world.pass(6 * MINUTE);
    await resume(world.ctx, "t", undefined);
    expect(await startsOfLater(world)).toBeLessThan(2 * MINUTE);
    expect(world.events.filter(({ type }) => type === "expired")).toHaveLength(COUNT);
  });

  test("take no turns of a resume's rate", async () => {
    const world = await withExpired({});
    // This job waits after them, and does not expire.
    const last = await world.file({ topic: "t", delay: 4 * MINUTE });
    await world.pass(6 * MINUTE);
    await resume(world.ctx, "t", 1);
    const runs = await runsWithin(world, 2 * MINUTE);
    expect(runs.map(({ id }) => id)).toEqual([last.id]);
    expect(world.events.filter(({ type }) => type === "expired")).toHaveLength(COUNT);
  });

  test("take no starts that would come too late for them", async () => {
    const world = createWorld({ topics: { t: { maxPerSecond: 2 } } });
    const runs: Run[] = [];
    const begin = world.now();
    for (let second = 0; second < 300; second++) {
      for (let i = 0; i < 6; i++) await world.file({ topic: "t", delay: 0, expiresAfter: MINUTE });
      runs.push(...(await runsWithin(world, SECOND)));
    }
    const minutes = Map.groupBy(runs, ({ at }) => Math.floor((at - begin) / MINUTE));
    for (const minute of [1, 2, 3, 4]) expect(minutes.get(minute)?.length).toBeGreaterThanOrEqual(0.98 * 120);
  });

  test("are ended without a message by the next ticks", async () => {
    const world = createWorld({ topics: { t: { maxPerSecond: 1 }, free: {} } });
    await world.tick();
    for (const topic of ["t", "free"])
      for (let i = 0; i < 50; i++) await world.file({ topic, delay: 10 * MINUTE, expiresAfter: MINUTE });
    const { id } = await world.file({ topic: "t", delay: 20 * MINUTE });
    await world.pass(HOUR, { ticks: false });
    await world.tick();
    expect(world.visible("t").map((job) => job.id)).toEqual([id]);
    expect(world.visible("free")).toHaveLength(50);
    expect(world.pool.items().filter((item) => "state" in item && item.state === "expired")).toHaveLength(50);
  });

  test("are ended once if a page has several looks of them", async () => {
    const world = createWorld({ shards: 1, topics: { t: { maxPerSecond: 1 } } });
    await world.tick();
    const { id } = await world.file({ topic: "t", delay: 10 * MINUTE, expiresAfter: MINUTE });
    await fileLooks(world.ctx, [{ id, time: world.now() + 10 * MINUTE + SECOND }], world.now() + MINUTE);
    await world.pass(HOUR, { ticks: false });
    await world.tick();
    expect(await world.home(id)).toMatchObject({ state: "expired" });
    expect(world.events.filter(({ type }) => type === "trouble")).toEqual([]);
  });

  test("leave to other jobs the starts that a writer would give them too late", async () => {
    const world = createWorld({ topics: { t: { maxPerSecond: 1 } } });
    for (let i = 0; i < 60; i++) await world.file({ topic: "t", delay: 0, expiresAfter: 10 * SECOND });
    const last = await world.file({ topic: "t", delay: 0 });
    const runs = await runsWithin(world, 20 * SECOND);
    expect(runs.map(({ id }) => id)).toContain(last.id);
    expect(runs.length).toBeLessThan(12);
  });

  test("leave to other jobs the turns of a resume's rate that would come too late for them", async () => {
    const world = createWorld({ topics: { t: {} } });
    await pauseTopic(world.ctx, "t");
    for (let i = 0; i < 60; i++) await world.file({ topic: "t", delay: 0, expiresAfter: 10 * SECOND });
    const last = await world.file({ topic: "t", delay: 1 });
    await resume(world.ctx, "t", 1);
    const runs = await runsWithin(world, 20 * SECOND);
    expect(runs.map(({ id }) => id)).toContain(last.id);
    expect(runs.length).toBeLessThan(12);
  });
});

test("the key of a job that an audit has ended is released, even if that write failed at first", async () => {
  const world = createWorld({ shards: 1, topics: { t: { maxPerSecond: 50 } } });
  await world.file({ topic: "t", key: "cart", delay: 10 * MINUTE, expiresAfter: 5 * MINUTE });
  await pauseTopic(world.ctx, "t");
  await world.pass(16 * MINUTE);
  let failed = 0;
  world.pool.hooks.before = ({ operation, keys }) => {
    if (operation === "change" && keys[0]?.pk.startsWith("key#") && failed++ === 0)
      throw new Error("throttled");
  };
  const keyItem = () => world.pool.items().find(({ pk }) => pk.startsWith("key#"));
  await world.pass(15 * MINUTE);
  expect(failed).toBe(1);
  expect(world.events.filter(({ type }) => type === "expired")).toHaveLength(1);
  expect(keyItem()).not.toHaveProperty("expiresAt");
  await world.pass(3 * HOUR);
  expect(keyItem()).toHaveProperty("expiresAt");
});

test("the keys of many jobs that a tick ends are written at once", async () => {
  const world = createWorld({ shards: 1, topics: { t: { maxPerSecond: 50 } } });
  for (let i = 0; i < 600; i++)
    await world.file({ topic: "t", key: `cart-${i}`, delay: 10 * MINUTE, expiresAfter: MINUTE });
  await world.pass(20 * MINUTE, { ticks: false });
  let atOnce = 0;
  let most = 0;
  world.pool.hooks.before = async ({ operation, keys }) => {
    if (operation !== "change" || !keys[0]?.pk.startsWith("key#")) return;
    most = Math.max(most, ++atOnce);
    await new Promise(setImmediate);
    atOnce -= 1;
  };
  await world.tick();
  expect(world.events.filter(({ type }) => type === "expired")).toHaveLength(600);
  expect(most).toBe(8);
});
