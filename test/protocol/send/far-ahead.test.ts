import { describe, expect, test } from "vitest";
import { DAY, PROMOTE_BEFORE, SCHEDULES_A_DAY } from "../../../src/core/constants.ts";
import { type Home, startsAt } from "../../../src/core/home.ts";
import { schedulesKey } from "../../../src/core/item-keys.ts";
import { cancel, cancelByKey, cancelMany } from "../../../src/protocol/change/cancel.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { promote } from "../../../src/protocol/hand-over/promote.ts";
import { consume } from "../../support/consume.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const LONG = 2 * HOUR;
const FAR = LONG + 1;
const farWorld = () => createWorld({ longDelay: LONG / SECOND });

/** Lets time pass until a job is due, with ticks only or with schedules only. */
async function passTo(world: World, home: Home, { ticks }: { ticks: boolean }): Promise<void> {
  if (ticks) return world.pass(home.dueAt - world.now());
  while (world.now() < home.dueAt) {
    await world.pass(Math.min(MINUTE, home.dueAt - world.now()), { ticks: false });
    for (const id of world.promotions.fire()) await promote(world.ctx, id);
  }
}

const firesBefore = ({ dueAt }: Home) => dueAt - PROMOTE_BEFORE - ((dueAt - PROMOTE_BEFORE) % SECOND);

describe("there is a schedule for", () => {
  test("a job due later than longDelay, four minutes ahead, and none due just then", async () => {
    const world = farWorld();
    const far = await world.file({ delay: FAR });
    const near = await world.file({ delay: LONG });
    expect(far.hasSchedule).toBe(true);
    expect(await world.home(far.id)).toMatchObject({ hasSchedule: true });
    expect(await world.home(near.id)).not.toHaveProperty("hasSchedule");
    expect(world.promotions.filed).toEqual(new Map([[far.id, firesBefore(far)]]));
  });

  test.each([
    ["one with a key", { key: "k" }],
    ["one with an Idempotency-Key", { once: { token: "t", hash: "h" } }],
    ["one with both", { key: "k", once: { token: "t", hash: "h" } }],
  ])("%s", async (_, more) => {
    const world = farWorld();
    const far = await world.file({ delay: FAR, ...more });
    expect(await world.home(far.id)).toMatchObject({ hasSchedule: true });
    expect(world.promotions.filed).toEqual(new Map([[far.id, firesBefore(far)]]));
  });

  test("no job if longDelay is off, or the process has no Scheduler", async () => {
    const off = createWorld();
    await off.file({ delay: 400 * DAY });
    expect(off.promotions.calls).toEqual({ put: 0, remove: 0 });

    const { promotions: _, ...without } = farWorld().ctx;
    const job = { topic: "orders", body: "{}", dueAt: without.clock() + FAR };
    const [filed] = await enqueueMany(without, [job]);
    expect(filed).toMatchObject({ outcome: "created" });
    expect(filed).not.toHaveProperty("home.hasSchedule");
  });

  test("no untracked job, because a second message would run it twice", async () => {
    const world = farWorld();
    const home = await world.file({ topic: "events", delay: FAR });
    expect(home).not.toHaveProperty("hasSchedule");
    expect(world.promotions.filed.size).toBe(0);
  });
});

describe("a schedule is kept in step", () => {
  test("it moves with its job, and goes when the job comes nearer", async () => {
    const world = farWorld();
    const far = await world.file({ delay: FAR });
    const later = await reschedule(world.ctx, far.id, { dueAt: world.now() + 20 * DAY });
    expect(world.promotions.filed).toEqual(new Map([[far.id, firesBefore(later)]]));
    await reschedule(world.ctx, far.id, { dueAt: world.now() + HOUR });
    expect(world.promotions.filed.size).toBe(0);
  });

  test("a near job that is moved far ahead gets one", async () => {
    const world = farWorld();
    const near = await world.file({ delay: HOUR });
    const far = await reschedule(world.ctx, near.id, { dueAt: world.now() + FAR });
    expect(await world.home(near.id)).toMatchObject({ hasSchedule: true });
    expect(world.promotions.filed).toEqual(new Map([[near.id, firesBefore(far)]]));
  });

  test("a new body alone leaves its time", async () => {
    const world = farWorld();
    const far = await world.file({ delay: FAR });
    await reschedule(world.ctx, far.id, { body: "2" });
    expect(world.promotions.filed).toEqual(new Map([[far.id, firesBefore(far)]]));
  });

  test("a replaced job's schedule moves too, or is deleted if the job is near", async () => {
    const world = farWorld();
    const first = await world.file({ key: "k", delay: HOUR });
    const replace = { key: "k", onDuplicate: "replace" } as const;
    const far = await world.file({ ...replace, delay: FAR });
    expect(far.id).toBe(first.id);
    expect(world.promotions.filed).toEqual(new Map([[far.id, firesBefore(far)]]));
    await world.file({ ...replace, delay: HOUR });
    expect(world.promotions.filed.size).toBe(0);
  });

  test.each<[string, (world: World, home: Home) => Promise<unknown>]>([
    ["by its id", (world, { id }) => cancel(world.ctx, id)],
    ["by its key", (world) => cancelByKey(world.ctx, "orders", "k")],
    ["with others", (world, { id }) => cancelMany(world.ctx, [id, id])],
  ])("a job cancelled %s loses its schedule", async (_, act) => {
    const world = farWorld();
    const home = await world.file({ delay: FAR, key: "k" });
    const other = await world.file({ delay: FAR });
    await act(world, home);
    expect([...world.promotions.filed.keys()]).toEqual([other.id]);
  });

  test("a job without a key cancelled by its id loses its schedule", async () => {
    const world = farWorld();
    const home = await world.file({ delay: FAR });
    await cancel(world.ctx, home.id);
    expect(world.promotions.filed.size).toBe(0);
  });

  test("a job that never had a schedule causes no call to Scheduler", async () => {
    const world = farWorld();
    const near = await world.file({ delay: HOUR });
    await reschedule(world.ctx, near.id, { dueAt: world.now() + 2 * HOUR });
    await cancel(world.ctx, near.id);
    expect(world.promotions.calls).toEqual({ put: 0, remove: 0 });
  });

  test("a refused enqueue creates no schedule", async () => {
    const world = farWorld();
    breakOnce(world, "before", ({ operation }) => operation === "insert");
    await expect(world.file({ delay: FAR })).rejects.toThrow();
    expect(world.promotions.calls.put).toBe(0);
  });
});

describe("a Scheduler that fails", () => {
  test("is reported once and fails no call: a batch stops calling it after its first failures", async () => {
    const world = farWorld();
    world.promotions.trouble = new Error("Rate exceeded");
    const dueAt = world.now() + FAR;
    const jobs = Array.from({ length: 500 }, () => ({ topic: "orders", body: "{}", dueAt }));
    const results = await enqueueMany(world.ctx, jobs);
    expect(results.every((result) => !(result instanceof Error) && result.outcome === "created")).toBe(true);
    expect(world.promotions.calls.put).toBeLessThanOrEqual(16);
    expect(world.events.filter(({ type }) => type === "trouble")).toEqual([
      { type: "trouble", topic: "orders", what: "keeping schedules in step", error: "Rate exceeded" },
    ]);
  });

  test("or is slow delays a batch by some seconds, not by some seconds for each job", async () => {
    const world = farWorld();
    const { put } = world.promotions;
    world.promotions.put = async (id, time) => {
      await world.pass(SECOND, { ticks: false });
      return put(id, time);
    };
    const begun = world.now();
    const jobs = Array.from({ length: 500 }, () => ({ topic: "orders", body: "{}", dueAt: begun + 2 * FAR }));
    await enqueueMany(world.ctx, jobs);
    expect(world.now() - begun).toBeLessThan(30 * SECOND);
    expect(world.promotions.filed.size).toBeLessThan(500);
    expect(world.events.filter(({ type }) => type === "trouble")).toHaveLength(1);
  });

  test("keeps no job from being moved or cancelled", async () => {
    const world = farWorld();
    const home = await world.file({ delay: FAR });
    world.promotions.trouble = new Error("Rate exceeded");
    const moved = await reschedule(world.ctx, home.id, { dueAt: world.now() + HOUR });
    expect(moved.dueAt).toBe(world.now() + HOUR);
    expect(await cancel(world.ctx, home.id)).toMatchObject({ state: "cancelled" });
    expect(world.promotions.filed.size).toBe(1);
  });
});

describe("a queue writes so many schedules a day and no more", () => {
  const counter = schedulesKey(START - (START % DAY));
  const unscheduled = ({ events }: World) => events.filter(({ type }) => type === "unscheduled");
  const booked = (world: World) =>
    world.pool.items().flatMap((item) => (item.pk === counter.pk && "booked" in item ? item.booked : []));
  /** Leaves so many of the day's schedules. */
  async function leave(world: World, left: number): Promise<void> {
    const amounts = { booked: SCHEDULES_A_DAY - left };
    await world.pool.count(counter, amounts, START / SECOND + 2 * 86_400, world.now() + MINUTE);
  }
  const fileMany = (world: World, count: number) =>
    enqueueMany(
      world.ctx,
      Array.from({ length: count }, () => ({ topic: "orders", body: "{}", dueAt: world.now() + 4 * HOUR })),
    );

  test("the jobs above run by the sweep, and are counted", async () => {
    const world = farWorld();
    await leave(world, 3);
    const results = await fileMany(world, 5);
    expect(results).toMatchObject(Array.from({ length: 5 }, () => ({ outcome: "created" })));
    expect(world.promotions.filed.size).toBe(3);
    expect(unscheduled(world)).toEqual([{ type: "unscheduled", jobs: 2 }]);
    await world.pass(4 * HOUR);
    expect(await consume(world, "orders")).toHaveLength(5);
  });

  test("many processes at once write no more together", async () => {
    const world = farWorld();
    await leave(world, 25);
    const processes = Array.from({ length: 10 }, () => ({
      ...world,
      ctx: { ...world.ctx, pool: { ...world.pool } },
    }));
    await Promise.all(processes.map((one) => fileMany(one, 6)));
    expect(world.promotions.filed.size).toBeLessThanOrEqual(25);
    expect(world.promotions.filed.size).toBeGreaterThan(10);
  });

  test("calls of one process at once get all that is left", async () => {
    const world = farWorld();
    await leave(world, 45);
    await Promise.all(Array.from({ length: 10 }, () => fileMany(world, 5)));
    expect(world.promotions.filed.size).toBe(45);
    expect(unscheduled(world)).toEqual([{ type: "unscheduled", jobs: 5 }]);
  });

  test("a full day costs no further count, and the next day begins anew", async () => {
    const world = farWorld();
    await leave(world, 0);
    await fileMany(world, 1);
    const before = booked(world);
    await fileMany(world, 1);
    expect(booked(world)).toEqual(before);
    expect(world.promotions.filed.size).toBe(0);
    await world.pass(DAY, { ticks: false });
    await fileMany(world, 1);
    expect(world.promotions.filed.size).toBe(1);
  });

  test("one count is for ten single jobs, and near jobs and cancels need none", async () => {
    const world = farWorld();
    await world.file({ delay: HOUR });
    expect(booked(world)).toEqual([]);
    const far = [];
    for (let i = 0; i < 10; i++) far.push(await world.file({ delay: FAR }));
    expect(booked(world)).toEqual([10]);
    await cancelMany(
      world.ctx,
      far.map(({ id }) => id),
    );
    expect(world.promotions.filed.size).toBe(0);
    expect(booked(world)).toEqual([10]);
  });

  test("a job that is moved above the bound keeps its old schedule, which does nothing", async () => {
    const world = farWorld();
    const home = await world.file({ delay: 4 * HOUR });
    await leave(world, 0);
    await fileMany(world, 10);
    const moved = await reschedule(world.ctx, home.id, { dueAt: world.now() + 8 * HOUR });
    expect(world.promotions.filed.get(home.id)).toBe(firesBefore(home));
    await world.pass(4 * HOUR);
    expect(await consume(world, "orders")).toHaveLength(10);
    await passTo(world, moved, { ticks: true });
    expect(await consume(world, "orders")).toMatchObject([{ id: home.id, at: moved.dueAt }]);
  });

  test("if the count gets no answer, the jobs have no schedules, and no call fails", async () => {
    const world = farWorld();
    breakOnce(world, "before", ({ operation }) => operation === "count");
    const home = await world.file({ delay: 4 * HOUR });
    expect(world.promotions.filed.size).toBe(0);
    expect(world.events.filter(({ type }) => type === "trouble")).toMatchObject([
      { what: "keeping schedules in step", error: "crash" },
    ]);
    await passTo(world, home, { ticks: true });
    expect(await consume(world, "orders")).toHaveLength(1);
  });
});

describe("a job runs in time", () => {
  test("by the sweep alone, if schedules never fire", async () => {
    const world = farWorld();
    const home = await world.file({ delay: 4 * HOUR });
    await passTo(world, home, { ticks: true });
    expect(world.promotions.filed.size).toBe(1);
    expect(await consume(world, "orders")).toMatchObject([{ id: home.id, at: home.dueAt }]);
  });

  test("by its schedule alone, if ticks never come", async () => {
    const world = farWorld();
    const home = await world.file({ delay: 4 * HOUR });
    await passTo(world, home, { ticks: false });
    expect(await consume(world, "orders")).toMatchObject([{ id: home.id, at: home.dueAt }]);
  });

  test("and once, if both send it", async () => {
    const world = farWorld();
    const home = await world.file({ delay: 4 * HOUR });
    await world.pass(4 * HOUR - PROMOTE_BEFORE);
    for (const id of world.promotions.fire()) await promote(world.ctx, id);
    await world.pass(PROMOTE_BEFORE);
    expect(world.queues.messages({ topic: "orders" })).toHaveLength(2);
    expect(await consume(world, "orders")).toHaveLength(1);
    expect((await world.home(home.id)).state).toBe("done");
  });
});

describe("a schedule that fires", () => {
  const messages = (world: World) => world.queues.messages({ topic: "orders" });

  test("sends a job that starts within SQS's 15 minutes, and no later one", async () => {
    const world = farWorld();
    const soon = await world.file({ delay: 15 * MINUTE });
    const late = await world.file({ delay: 15 * MINUTE + 1 });
    await promote(world.ctx, late.id);
    expect(messages(world)).toEqual([]);
    await promote(world.ctx, soon.id);
    expect(messages(world)).toHaveLength(1);
    expect(world.visible("orders")).toEqual([]);
  });

  test("uses the job's start after a hold, not its due time", async () => {
    const world = farWorld();
    const home = await world.file({ delay: 10 * MINUTE });
    const { pk, sk } = home;
    const set = { heldUntil: world.now() + HOUR };
    await world.pool.change({ key: { pk, sk }, expect: {}, set }, world.now() + SECOND);
    await promote(world.ctx, home.id);
    expect(messages(world)).toEqual([]);
  });

  test("two minutes late takes no starts of its topic's limit from other jobs", async () => {
    const world = createWorld({ longDelay: LONG / SECOND, topics: { orders: { maxPerSecond: 10 } } });
    await world.tick();
    const due = world.now() + FAR;
    const dueAt = Array.from({ length: 600 }, (_, i) => due + i * 100);
    for (const some of [dueAt.slice(0, 300), dueAt.slice(300)])
      await enqueueMany(
        world.ctx,
        some.map((time) => ({ topic: "orders", body: "{}", dueAt: time })),
      );
    await world.pass(due - PROMOTE_BEFORE - world.now());
    const fired: { id: string; at: number }[] = [];
    for (let second = 0; second < 300; second++) {
      for (const id of world.promotions.fire()) fired.push({ id, at: world.now() + 115 * SECOND });
      while (fired[0] && fired[0].at <= world.now()) await promote(world.ctx, fired.shift()?.id ?? "");
      await world.pass(SECOND);
    }
    const homes = world.pool.items().filter((item): item is Home => "dueAt" in item);
    expect(homes).toHaveLength(600);
    expect(Math.max(...homes.map((home) => startsAt(home) - home.dueAt))).toBeLessThan(SECOND);
  });

  test("ignores a job that is cancelled or deleted", async () => {
    const world = farWorld();
    const home = await world.file({ delay: 10 * MINUTE });
    await cancel(world.ctx, home.id);
    await promote(world.ctx, home.id);
    await promote(world.ctx, (await createWorld().file({ delay: HOUR })).id.replace(/.$/, "0"));
    expect(messages(world)).toEqual([]);
  });
});
