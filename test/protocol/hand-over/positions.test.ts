import { describe, expect, it } from "vitest";
import type { Home } from "../../../src/core/home.ts";
import { cursorKey, minuteOf, sortable, timeOf } from "../../../src/core/item-keys.ts";
import type { Cursor } from "../../../src/core/items.ts";
import { beforeTime } from "../../../src/core/position.ts";
import { type Range, rangesText } from "../../../src/core/ranges.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { readCursor } from "../../../src/protocol/hand-over/cursor.ts";
import type { Pool } from "../../../src/protocol/ports.ts";
import { receive } from "../../../src/protocol/run/pull.ts";
import { consume } from "../../support/consume.ts";
import { sweepAll } from "../../support/sweep-all.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const orders = { topic: "orders" };

function cursorOf(world: World): Cursor {
  return world.pool.items().find(({ pk }) => pk === cursorKey(0).pk) as Cursor;
}

/** `count` jobs of one minute, with pages of three and a mark every second entry. */
async function busyWorld(count: number): Promise<World> {
  const world = createWorld({ shards: 1 }, { ...SIZES, page: 3, mark: 2 });
  await world.tick();
  const dueAt = world.now() + 10 * MINUTE;
  await enqueueMany(
    world.ctx,
    Array.from({ length: count }, () => ({ topic: "orders", body: "{}", dueAt })),
  );
  return world;
}

/** A pool that calls `die` as the third page of a busy minute is read. */
function dyingPool(world: World, die: () => void): Pool {
  let pages = 0;
  const page: Pool["page"] = async (pk, from, before, limit) => {
    if (from.includes("#") && ++pages > 2) die();
    return world.pool.page(pk, from, before, limit);
  };
  return { ...world.pool, page };
}

describe("the position that a sweep has written inside a minute", () => {
  it.each([3, 7, 20])("is audited too: all of %i jobs run after their queue is purged", async (count) => {
    const world = await busyWorld(count);
    await world.pass(9 * MINUTE);
    world.queues.purge(orders);
    const ran = new Set<string>();
    for (let i = 0; i < 120; i++) {
      await world.pass(MINUTE);
      for (const { id } of await consume(world, "orders")) ran.add(id);
    }
    expect(ran.size).toBe(count);
  });

  it.each(["out of time", "killed"])("is audited too when the sweep was %s there", async (how) => {
    const world = await busyWorld(20);
    await world.pass(8 * MINUTE - SECOND, { ticks: false });
    let pages = 0;
    const { now } = world;
    const page: typeof world.pool.page = (...asked) => {
      pages += 1;
      if (how === "killed" && pages > 4) throw new Error("killed");
      return world.pool.page(...asked);
    };
    const clock = (): number => now() + (how === "out of time" && pages > 4 ? HOUR : 0);
    await sweepAll({ ...world.ctx, clock, pool: { ...world.pool, page } }, 0, now() + MINUTE).catch(() => {});
    await world.pass(SECOND);
    world.queues.purge(orders);
    const ran = new Set<string>();
    for (let i = 0; i < 120; i++) {
      await world.pass(MINUTE);
      for (const { id } of await consume(world, "orders")) ran.add(id);
    }
    expect(ran.size).toBe(20);
  });

  it("is audited too when it lies before jobs that SQS did not accept", async () => {
    const world = createWorld({ shards: 1, topics: { work: { consumer: "pull", ttr: 1200 }, other: {} } });
    await world.tick();
    const crashed = await world.file({ topic: "work" });
    await receive(world.ctx, "work", { max: 1, waitSeconds: 0 }, world.timers);
    world.queues.purge({ topic: "work" });
    // The job's first look after its lease's end is the entry just before the other job's.
    await world.file({ topic: "other", delay: 20 * MINUTE + 20 * SECOND });
    await world.pass(17 * MINUTE + 30 * SECOND);
    world.queues.trouble("all", "unreachable");
    await world.pass(MINUTE);
    world.queues.trouble("all", undefined);
    await world.pass(2 * HOUR);
    expect(world.visible("work")).toContainEqual(expect.objectContaining({ id: crashed.id }));
  });
});

describe("a cursor that an earlier version has written, with sort keys for positions,", () => {
  async function stored(): Promise<{ world: World; homes: Home[] }> {
    const world = await busyWorld(20);
    const homes = world.pool.items().filter((item): item is Home => "dueAt" in item);
    return { world, homes: homes.sort((a, b) => (a.sk < b.sk ? -1 : 1)) };
  }

  it("is swept from after the entry that it names, which is done", async () => {
    const { world, homes } = await stored();
    world.pool.put({ ...cursorOf(world), swept: homes[3]?.sk ?? "" });
    await world.pass(8 * MINUTE, { ticks: false });
    await world.tick();
    const sent = world.queues.messages(orders).flatMap(({ body }) => JSON.parse(body).jobs);
    expect(sent.map(({ id }: { id: string }) => id).sort()).toEqual(homes.slice(4).map(({ id }) => id));
  });

  it("is audited from the entry that it names, which may not be audited yet, until the minute of the entry that the trail names", async () => {
    const { world, homes } = await stored();
    await world.pass(8 * MINUTE);
    world.queues.purge(orders);
    await world.pass(20 * MINUTE, { ticks: false });
    const from = homes[3]?.sk ?? "";
    const end = beforeTime(minuteOf(timeOf(from)) + MINUTE);
    const trail = [{ position: `${end}#an entry`, reachedAt: world.now() - 11 * MINUTE }];
    world.pool.put({ ...cursorOf(world), audited: from, trail });
    await world.tick();
    const sent = world.queues.messages(orders).flatMap(({ body }) => JSON.parse(body).jobs);
    const ids = sent.map(({ id }: { id: string }) => id);
    expect(ids.toSorted()).toEqual(
      homes
        .slice(3)
        .map(({ id }) => id)
        .toSorted(),
    );
    expect((await readCursor(world.ctx, 0)).audited).toBe(end);
  });

  it("is compatible with that version: exactly the entries that sort after its text are left", async () => {
    const { world, homes } = await stored();
    await world.pass(8 * MINUTE - SECOND, { ticks: false });
    const pool = dyingPool(world, () => {
      throw new Error("killed");
    });
    await sweepAll({ ...world.ctx, pool }, 0, world.now() + MINUTE);
    expect(world.events).toContainEqual(expect.objectContaining({ type: "trouble", error: "killed" }));
    const { swept } = cursorOf(world);
    const sent = world.queues.messages(orders).flatMap(({ body }) => JSON.parse(body).jobs);
    expect(sent.length).toBeGreaterThan(0);
    expect(homes.filter(({ sk }) => sk <= swept).map(({ id }) => id)).toEqual(
      sent.map(({ id }: { id: string }) => id).sort(),
    );
    expect(homes.map(({ sk }) => sk)).not.toContain(swept);
  });
});

it("a cursor that an earlier version has moved past recorded ranges keeps only the ranges that lie after it", async () => {
  const world = createWorld({ shards: 1 });
  await world.tick();
  const [first, second, third] = [1, 3, 5].map((hours) => {
    const from = world.now() + hours * HOUR;
    return { from: beforeTime(from), to: beforeTime(from + HOUR) };
  }) as [Range, Range, Range];
  const ahead = rangesText([first, second, third]) as string;
  world.pool.put({ ...cursorOf(world), swept: sortable(world.now() + 3.5 * HOUR), ahead });
  expect(await readCursor(world.ctx, 0)).toMatchObject({ swept: second.to, ahead: [third] });
});
