import { describe, expect, it } from "vitest";
import { bucketOf, minuteOf } from "../../../src/core/item-keys.ts";
import type { Key } from "../../../src/core/items.ts";
import { addressOf } from "../../../src/core/job-id.ts";
import { parseMessage } from "../../../src/core/message.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Pool } from "../../../src/protocol/ports.ts";
import { cursors } from "../../support/scenes.ts";
import { createWorld, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const SICK = minuteOf(START + 10 * MINUTE);

/** DynamoDB answers no read of this bucket. Returns a function that ends this. */
function silence(world: World, bucket: string): () => void {
  const { page, read } = world.pool;
  const fail = () => Promise.reject(new Error("DynamoDB throttles the partition"));
  world.pool.page = (pk, ...rest) => (pk === bucket ? fail() : page.call(world.pool, pk, ...rest));
  const readOthers = (keys: readonly Key[]) =>
    keys.some(({ pk }) => pk === bucket) ? fail() : read.call(world.pool, keys);
  world.pool.read = readOthers as Pool["read"];
  return () => {
    world.pool.page = page;
    world.pool.read = read;
  };
}

/** Runs a tick at the beginning of each minute. Answers how many ticks failed. */
async function tickFor(world: World, minutes: number): Promise<number> {
  let failed = 0;
  for (let i = 0; i < minutes; i++) {
    await world.pass(MINUTE, { ticks: false });
    await world.tick().catch(() => {
      failed += 1;
    });
  }
  return failed;
}

const sentOf = (world: World): string[] =>
  world.queues
    .messages({ topic: "orders" })
    .flatMap(({ body }) => parseMessage(body)?.jobs.map(({ id }) => id) ?? []);

describe("while one minute of a shard cannot be read,", () => {
  it("the jobs of later minutes are sent in time and once, and its own jobs when it can be read again", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const jobs = Array.from({ length: 40 }, (_, i) => ({
      topic: "orders",
      body: "{}",
      dueAt: START + 9 * MINUTE + i * 15 * SECOND,
    }));
    const homes = (await enqueueMany(world.ctx, jobs)).flatMap((one) => ("home" in one ? one.home : []));
    const mend = silence(world, bucketOf(SICK, 0));
    expect(await tickFor(world, 25)).toBeGreaterThan(10);
    const [sick, well] = [homes.filter(isIn(SICK)), homes.filter((home) => !isIn(SICK)(home))];
    expect(sick).toHaveLength(4);
    expect(sentOf(world).sort()).toEqual(well.map(({ id }) => id).sort());
    expect(cursors(world).every(({ swept }) => swept <= String(SICK))).toBe(true);
    mend();
    await tickFor(world, 1);
    expect(sentOf(world).sort()).toEqual(homes.map(({ id }) => id).sort());
    expect(cursors(world).every(({ swept }) => swept > String(SICK + 10 * MINUTE))).toBe(true);
  });

  it("a new process tries that minute again, and sends no job of another minute again", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const minutes = [9, 12, 13, 14];
    const jobs = minutes.map((at) => ({ topic: "orders", body: "{}", dueAt: START + at * MINUTE }));
    await enqueueMany(world.ctx, jobs);
    silence(world, bucketOf(SICK, 0));
    await tickFor(world, 10);
    for (let i = 0; i < 6; i++) {
      await world.pass(MINUTE, { ticks: false });
      const pool = Object.assign(Object.create(world.pool), {});
      await expect(tick({ ...world.ctx, pool }, world.now() + MINUTE)).rejects.toThrow(
        "throttles the partition",
      );
    }
    expect(sentOf(world)).toHaveLength(minutes.length);
    expect(new Set(sentOf(world)).size).toBe(minutes.length);
  });

  it("two processes take turns, and the cursor never goes back", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const jobs = Array.from({ length: 60 }, (_, i) => ({
      topic: "orders",
      body: "{}",
      dueAt: START + 10 * MINUTE + i * SECOND,
    }));
    await enqueueMany(world.ctx, jobs);
    const sizes = { ...world.ctx.sizes, page: 10 };
    const pools = [1, 2].map(() => Object.assign(Object.create(world.pool), {}) as Pool);
    const { page } = world.pool;
    let left = 0;
    world.pool.page = (pk, ...rest) =>
      pk === bucketOf(SICK, 0) && --left < 0
        ? Promise.reject(new Error("DynamoDB throttles the partition"))
        : page.call(world.pool, pk, ...rest);
    let before = "";
    for (let i = 0; i < 24; i++) {
      await world.pass(MINUTE, { ticks: false });
      // At times two pages of that minute can be read.
      left = i % 3 === 2 ? 2 : 0;
      const pool = pools[Math.floor(i / 2) % 2] as Pool;
      await tick({ ...world.ctx, sizes, pool }, world.now() + MINUTE).catch(() => {});
      const [{ swept } = { swept: "" }] = cursors(world);
      expect(swept >= before).toBe(true);
      before = swept;
    }
    expect(new Set(sentOf(world)).size).toBe(60);
  });

  it("a few minutes in a row that cannot be read hold up no later ones", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const jobs = Array.from({ length: 40 }, (_, i) => ({
      topic: "orders",
      body: "{}",
      dueAt: START + 9 * MINUTE + i * 30 * SECOND,
    }));
    const homes = (await enqueueMany(world.ctx, jobs)).flatMap((one) => ("home" in one ? one.home : []));
    const minutes = [0, 1, 2].map((i) => SICK + i * MINUTE);
    const mend = minutes.map((minute) => silence(world, bucketOf(minute, 0)));
    await tickFor(world, 30);
    const well = homes.filter((home) => !minutes.some((minute) => isIn(minute)(home)));
    expect(well).toHaveLength(34);
    expect(sentOf(world).sort()).toEqual(well.map(({ id }) => id).sort());
    for (const undo of mend.reverse()) undo();
    await tickFor(world, 1);
    expect(sentOf(world).sort()).toEqual(homes.map(({ id }) => id).sort());
  });

  it("many such minutes that lie apart hold up no overdue jobs either", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    for (let i = 0; i < 60; i++) silence(world, bucketOf(minuteOf(START) + (6 + 3 * i) * MINUTE, 0));
    await tickFor(world, 69);
    const dueAt = minuteOf(START) + 79 * MINUTE;
    await enqueueMany(world.ctx, [{ topic: "orders", body: "{}", dueAt }]);
    await world.pass(20 * MINUTE, { ticks: false });
    await tickFor(world, 2);
    expect(sentOf(world)).toHaveLength(1);
  });

  it("looks of its jobs do not delay other jobs either", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const far = START + 60 * MINUTE;
    const [moved] = await enqueueMany(world.ctx, [{ topic: "orders", body: "{}", dueAt: far }]);
    const id = moved && "home" in moved ? moved.home.id : "";
    await reschedule(world.ctx, id, { dueAt: START + 12 * MINUTE });
    const own = bucketOf(minuteOf(far), addressOf(id).shard);
    await enqueueMany(world.ctx, [{ topic: "orders", body: "{}", dueAt: START + 12.5 * MINUTE }]);
    const mend = silence(world, own);
    await tickFor(world, 11);
    expect(sentOf(world)).toHaveLength(1);
    expect(sentOf(world)).not.toContain(id);
    mend();
    await tickFor(world, 4);
    expect(sentOf(world)).toContain(id);
  });

  it("if no minute can be read, the sweep ends, and no job is passed over", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    await enqueueMany(world.ctx, [{ topic: "orders", body: "{}", dueAt: START + 10 * MINUTE }]);
    const { page } = world.pool;
    world.pool.page = () => Promise.reject(new Error("DynamoDB is down"));
    expect(await tickFor(world, 12)).toBe(12);
    world.pool.page = page;
    await tickFor(world, 1);
    expect(sentOf(world)).toHaveLength(1);
  });
});

function isIn(minute: number): (home: { dueAt: number }) => boolean {
  return ({ dueAt }) => minuteOf(dueAt) === minute;
}
