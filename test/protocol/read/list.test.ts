import { describe, expect, it } from "vitest";
import { BUCKETS_A_PAGE, DAY, ENTRIES_A_PAGE, PAGE_BYTES } from "../../../src/core/constants.ts";
import type { Position } from "../../../src/core/position.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { type JobPage, type ListRequest, listJobs } from "../../../src/protocol/read/list.ts";
import { createWorld, HOUR, MINUTE, START, type World } from "../../support/world.ts";

const SHARDS = 2;
const COUNT = 5000;

type Read = { buckets: number; entries: number; atOnce: number; looked: number };

/** A context that adds up what the reads of its pages answer. */
function counting({ ctx, pool }: World): { ctx: Context; read: Read } {
  const read = { buckets: 0, entries: 0, atOnce: 0, looked: 0 };
  let inFlight = 0;
  const page: typeof pool.page = async (pk, after, before, limit) => {
    inFlight += 1;
    read.atOnce = Math.max(read.atOnce, inFlight);
    const found = await pool.page(pk, after, before, limit);
    inFlight -= 1;
    read.buckets += 1;
    read.entries += found.items.length;
    return found;
  };
  const readHomes: typeof pool.read = (keys) => {
    read.looked += keys.length;
    return pool.read(keys);
  };
  return { ctx: { ...ctx, pool: { ...pool, page, read: readHomes } }, read };
}

/** A world with many jobs in one minute. */
async function busyWorld(): Promise<World> {
  const world = createWorld({ shards: SHARDS });
  for (let i = 0; i < COUNT; i++) await world.file({ delay: HOUR + (i % 30_000) });
  return world;
}

async function allPages(ctx: Context, request: ListRequest): Promise<JobPage[]> {
  const pages: JobPage[] = [];
  let cursor: Position | undefined;
  do {
    const page = await listJobs(ctx, { ...request, ...(cursor === undefined ? {} : { cursor }) });
    pages.push(page);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return pages;
}

const busy = { from: START, to: START + 2 * HOUR };

describe("a page of a list", () => {
  it("reads little more of a busy minute than it answers", async () => {
    const world = await busyWorld();
    const { ctx, read } = counting(world);
    const from = START + HOUR;
    expect((await listJobs(ctx, { ...busy, from, limit: 100 })).homes).toHaveLength(100);
    expect(read.entries).toBeLessThan(2 * 100);
    expect(read.buckets).toBeLessThanOrEqual(2 * SHARDS);
  });

  it("that finds nothing ends after so many entries, and the next page continues after them", async () => {
    const { ctx, read } = counting(await busyWorld());
    const pages: JobPage[] = [];
    let cursor: Position | undefined;
    do {
      read.entries = 0;
      const asked = { ...busy, tag: "none", limit: 100, ...(cursor === undefined ? {} : { cursor }) };
      const page = await listJobs(ctx, asked);
      expect(read.entries).toBeLessThan(ENTRIES_A_PAGE + SHARDS * 500);
      expect(page.homes).toEqual([]);
      pages.push(page);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(pages.reduce((sum, { examined }) => sum + examined, 0)).toBe(COUNT);
    expect(pages.length).toBeLessThanOrEqual(COUNT / 1000);
  });

  it("that finds nothing ends after so many buckets, and reads several minutes at once", async () => {
    const { ctx, read } = counting(createWorld({ shards: SHARDS }));
    const empty = { from: START, to: START + 1000 * MINUTE, limit: 100 };
    expect((await listJobs(ctx, empty)).cursor).toBe(String(START + (BUCKETS_A_PAGE / SHARDS) * MINUTE));
    expect(read.buckets).toBe(BUCKETS_A_PAGE);
    expect(read.atOnce).toBeGreaterThan(8 * SHARDS);
  });

  it("ends after so many bytes of bodies", async () => {
    const world = createWorld({ shards: SHARDS });
    const body = JSON.stringify("x".repeat(200_000));
    for (let i = 0; i < 100; i++) await world.file({ delay: HOUR + i * MINUTE, body });
    const { ctx, read } = counting(world);
    const page = await listJobs(ctx, { from: START, to: START + 3 * HOUR, tag: "none", limit: 100 });
    expect(page.cursor).toBeDefined();
    expect(read.entries).toBeLessThan(100);
  });

  it("ends after so many bytes of bodies of moved jobs, and all pages together read each of them once", async () => {
    const world = createWorld({ shards: SHARDS });
    const body = JSON.stringify("x".repeat(90_000));
    for (let i = 0; i < 120; i++) {
      const { id } = await world.file({ delay: 4 * HOUR, body });
      await reschedule(world.ctx, id, { dueAt: START + HOUR + (i % 2) });
    }
    const { ctx, read } = counting(world);
    const request = { from: START, to: START + 2 * HOUR, tag: "none", limit: 1000 };
    expect((await listJobs(ctx, request)).cursor).toBeDefined();
    expect(read.looked).toBeLessThan(60);
    read.looked = 0;
    const pages = await allPages(ctx, request);
    expect(pages.reduce((sum, { examined }) => sum + examined, 0)).toBe(120);
    expect(read.looked).toBe(120 + pages.length);
  });

  it("has a job once if its home and its look have the same time, wherever a read ends", async () => {
    const world = createWorld({ shards: 1 });
    await world.file({ delay: HOUR });
    for (let i = 1; i <= 60; i++) {
      const { id, dueAt } = await world.file({ delay: HOUR + i });
      await reschedule(world.ctx, id, { dueAt });
    }
    const { homes } = await listJobs(world.ctx, { ...busy, limit: 1000 });
    expect(homes.map(({ dueAt }) => dueAt - START - HOUR)).toEqual(homes.map((_, i) => i));
    expect(homes).toHaveLength(61);
  });

  it("ends before its answer is too large for Lambda", async () => {
    const world = createWorld({ shards: SHARDS });
    const headers = { h: "x".repeat(4080) };
    for (let i = 0; i < 1100; i++) await world.file({ delay: i * 1000, headers });
    const pages = await allPages(world.ctx, { ...busy, limit: 1000 });
    expect(pages.flatMap(({ homes }) => homes)).toHaveLength(1100);
    for (const { homes } of pages) expect(JSON.stringify(homes).length).toBeLessThan(1.01 * PAGE_BYTES);
    expect(pages[0]?.homes.length).toBeGreaterThan(900);
  });

  it("has the jobs of one tag and one group, and all pages together have all of them", async () => {
    const world = createWorld({ shards: SHARDS });
    const wanted = [];
    for (let i = 0; i < 60; i++) {
      const tag = i % 3 === 0 ? "spring" : "autumn";
      const home = await world.file({ delay: i * MINUTE, tag, group: i % 2 === 0 ? "a" : "b" });
      if (i % 6 === 0) wanted.push(home.id);
    }
    await world.file({ delay: MINUTE });
    const range = { from: START, to: START + HOUR, limit: 4 };
    const pages = await allPages(world.ctx, { ...range, tag: "spring", group: "a" });
    expect(pages.flatMap(({ homes }) => homes.map(({ id }) => id))).toEqual(wanted);
  });

  it("has a moved job even if a pause holds it for longer than TTL keeps its look", async () => {
    const world = createWorld({ shards: 1 });
    const { id } = await world.file({ delay: HOUR });
    await reschedule(world.ctx, id, { dueAt: START + 2 * HOUR });
    await pauseTopic(world.ctx, "orders");
    await world.pass(3 * HOUR);
    for (let day = 0; day < 190; day++) {
      await world.pass(DAY, { ticks: false });
      for (let i = 0; i < 2; i++) await world.tick();
      // DynamoDB's TTL.
      const over = world.pool
        .items()
        .filter((item) => "expiresAt" in item && (item.expiresAt ?? 0) * 1000 < world.now());
      await world.pool.remove(over, world.now() + MINUTE);
    }
    const { homes } = await listJobs(world.ctx, {
      topic: "orders",
      from: START,
      to: START + 3 * HOUR,
      limit: 10,
    });
    expect(homes.map((home) => home.id)).toEqual([id]);
  });
});
