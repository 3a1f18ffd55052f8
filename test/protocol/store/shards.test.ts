import { describe, expect, it } from "vitest";
import { AUDIT_AFTER } from "../../../src/core/constants.ts";
import { cursorKey, sortable } from "../../../src/core/item-keys.ts";
import type { Cursor } from "../../../src/core/items.ts";
import { addressOf } from "../../../src/core/job-id.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueue } from "../../../src/protocol/file/enqueue.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { forecast } from "../../../src/protocol/read/forecast.ts";
import { listJobs } from "../../../src/protocol/read/list.ts";
import { reportTopics } from "../../../src/protocol/read/topics.ts";
import { consume } from "../../support/consume.ts";
import { cursors } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

describe("shards", () => {
  it("a new table's cursors begin at its creation, so that jobs filed before the first tick are found", async () => {
    const world = createWorld();
    await world.file({ delay: 4 * MINUTE });
    await world.pass(30 * MINUTE, { ticks: false });
    await world.tick();
    expect(cursors(world)).toHaveLength(2);
    expect(await consume(world, "orders")).toHaveLength(1);
  });

  it("a shard that is added later starts AUDIT_AFTER ago, and writers use it only after that", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const more = { ...world.ctx, policy: { ...world.ctx.policy, shards: 4 } };
    await world.pass(20 * MINUTE);
    const before = await Promise.all(Array.from({ length: 20 }, () => world.file({ delay: HOUR })));
    expect(new Set(before.map(({ id }) => addressOf(id).shard))).toEqual(new Set([0]));
    await tick(more, world.now() + MINUTE);
    expect(cursors(world).map(({ audited }) => Number(audited))).toEqual([
      expect.any(Number),
      ...Array(3).fill(world.now() - AUDIT_AFTER),
    ]);
    await world.pass(2 * MINUTE, { ticks: false });
    const after = await Promise.all(Array.from({ length: 40 }, () => world.file({ delay: HOUR })));
    expect(new Set(after.map(({ id }) => addressOf(id).shard))).toEqual(new Set([0, 1, 2, 3]));
    await world.pass(2 * HOUR);
    const runs = [];
    for (let i = 0; i < 10; i++) runs.push(...(await consume(world, "orders")));
    expect(runs).toHaveLength(60);
  });

  it("a configuration with fewer shards than the table has loses no job, and files no more jobs into the others", async () => {
    const world = createWorld({ shards: 4 });
    await world.tick();
    for (let i = 0; i < 10; i++) await world.file({ delay: HOUR });
    const fewer = { ...world.ctx, policy: { ...world.ctx.policy, shards: 1 } };
    await tick(fewer, world.now() + MINUTE);
    // A process uses the number that it has read for a minute.
    await world.pass(MINUTE, { ticks: false });
    const shardsOfTen = async (): Promise<Set<number>> => {
      const filed = await Promise.all(Array.from({ length: 10 }, () => world.file({ delay: HOUR })));
      return new Set(filed.map(({ id }) => addressOf(id).shard));
    };
    expect(await shardsOfTen()).toEqual(new Set([0]));
    await tick(world.ctx, world.now() + MINUTE);
    await world.pass(MINUTE, { ticks: false });
    expect((await shardsOfTen()).size).toBeGreaterThan(1);
    for (let i = 0; i < 63; i++) {
      await world.pass(MINUTE, { ticks: false });
      await tick(fewer, world.now() + MINUTE);
    }
    const runs = [];
    for (let i = 0; i < 5; i++) runs.push(...(await consume(world, "orders")));
    expect(runs).toHaveLength(30);
  });
});

describe("after the number of shards was lowered", () => {
  const JOBS = 20;
  /** Jobs in four shards, of which writers use only the first from now on. `paused`: the jobs are parked. */
  const lowered = async (paused = false): Promise<{ world: World; fewer: Context }> => {
    const world = createWorld({ shards: 4 });
    await world.tick();
    if (paused) await pauseTopic(world.ctx, "orders");
    for (let i = 0; i < JOBS; i++) await world.file({ delay: paused ? 0 : HOUR });
    const fewer = { ...world.ctx, policy: { ...world.ctx.policy, shards: 1 } };
    await tick(fewer, world.now() + MINUTE);
    return { world, fewer };
  };

  it("lists and forecasts show the jobs of all shards", async () => {
    const { fewer } = await lowered();
    const range = { from: START, to: START + 2 * HOUR };
    expect((await listJobs(fewer, { ...range, limit: 2 * JOBS })).homes).toHaveLength(JOBS);
    expect(await forecast(fewer, range)).toEqual({ minutes: [{ minute: START + HOUR, count: JOBS }] });
  });

  it("a resume releases the parked jobs of all shards", async () => {
    const { fewer } = await lowered(true);
    expect(await resume(fewer, "orders", undefined)).toEqual({ released: JOBS, left: 0 });
  });

  it("the sweep lag is that of the slowest of all shards", async () => {
    const { world, fewer } = await lowered();
    const slow = cursors(world).find(({ pk }) => pk === cursorKey(3).pk) as Cursor;
    world.pool.put({ ...slow, swept: sortable(START - HOUR) });
    const [report] = await reportTopics(fewer, ["orders"]);
    expect(report?.sweepLag).toBeGreaterThan(HOUR);
  });

  it("a writer that cannot read the number any more files no more jobs into the others", async () => {
    const { world, fewer } = await lowered();
    await enqueue(fewer, { topic: "orders", body: "{}", dueAt: START + HOUR });
    await world.pass(2 * MINUTE, { ticks: false });
    world.pool.hooks.before = ({ keys }) => {
      if (keys.some(({ pk }) => pk === "meta")) throw new Error("no number");
    };
    const filed = await Promise.all(Array.from({ length: 20 }, () => world.file({ delay: HOUR })));
    expect(new Set(filed.map(({ id }) => addressOf(id).shard))).toEqual(new Set([0]));
  });
});

describe("lists", () => {
  const list = (world: World, more: object = {}) =>
    listJobs(world.ctx, { from: START, to: START + 2 * HOUR, limit: 10, ...more });

  it("come in due order over all shards, page by page, each job once", async () => {
    const world = createWorld({ shards: 3 });
    const due: number[] = [];
    for (let i = 0; i < 35; i++) {
      const delay = ((i * 37) % 90) * MINUTE + i;
      due.push((await world.file({ delay })).dueAt);
    }
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await list(world, cursor === undefined ? {} : { cursor });
      expect(page.homes.length).toBeLessThanOrEqual(10);
      seen.push(...page.homes.map(({ dueAt }) => dueAt));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(due.sort((a, b) => a - b));
  });

  it("name a moved job at its new time only", async () => {
    const world = createWorld();
    const job = await world.file({ delay: MINUTE });
    await reschedule(world.ctx, job.id, { dueAt: START + HOUR });
    expect((await list(world)).homes.map(({ dueAt }) => dueAt)).toEqual([START + HOUR]);
    await reschedule(world.ctx, job.id, { dueAt: START + MINUTE });
    expect((await list(world)).homes.map(({ dueAt }) => dueAt)).toEqual([START + MINUTE]);
    expect((await list(world, { limit: 1 })).homes).toHaveLength(1);
  });

  it("can be filtered by topic and state, and exclude the end of the range", async () => {
    const world = createWorld();
    const first = await world.file({ delay: MINUTE });
    await world.file({ delay: MINUTE, topic: "precise" });
    await world.file({ delay: 2 * HOUR });
    await cancel(world.ctx, first.id);
    expect((await list(world)).homes).toHaveLength(2);
    expect((await list(world, { topic: "precise" })).homes).toHaveLength(1);
    expect((await list(world, { state: "cancelled" })).homes.map(({ id }) => id)).toEqual([first.id]);
    expect((await list(world, { to: START + 2 * HOUR + 1 })).homes).toHaveLength(3);
  });

  it("a minute with more jobs than one read answers is listed completely", async () => {
    const world = createWorld({ shards: 2 });
    for (let i = 0; i < 1300; i++) await world.file({ delay: HOUR + (i % 50) * SECOND });
    const seen = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await list(world, { limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
      for (const { id } of page.homes) seen.add(id);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen.size).toBe(1300);
  });

  it("a forecast counts the waiting jobs of each minute", async () => {
    const world = createWorld();
    for (let i = 0; i < 5; i++) await world.file({ delay: 10 * MINUTE + i * SECOND });
    const moved = await world.file({ delay: 10 * MINUTE });
    await reschedule(world.ctx, moved.id, { dueAt: START + 20 * MINUTE });
    const gone = await world.file({ delay: 10 * MINUTE });
    await cancel(world.ctx, gone.id);
    expect(await forecast(world.ctx, { from: START, to: START + HOUR })).toEqual({
      minutes: [
        { minute: START + 10 * MINUTE, count: 5 },
        { minute: START + 20 * MINUTE, count: 1 },
      ],
    });
  });
});
