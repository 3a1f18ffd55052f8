import { describe, expect, it } from "vitest";
import { CLOCK_MARGIN, DAY } from "../../../src/core/constants.ts";
import { tombstoneKey, ttl } from "../../../src/core/item-keys.ts";
import type { Item, KeyItem, Tombstone } from "../../../src/core/items.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { cancelByEvent } from "../../../src/protocol/change/cancel-by-event.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueue, enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import type { Pool } from "../../../src/protocol/ports.ts";
import type { Ending } from "../../../src/protocol/run/settle.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import {
  type Call,
  callsOf,
  dead,
  fail,
  isAt,
  isLook,
  key,
  liveHomes,
  meanwhile,
} from "../../support/scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const LASTS = 5 * MINUTE;

const eventWorld = (): World =>
  createWorld({
    longDelay: 7200,
    topics: { orders: { cancelledByEvents: true, maxAttempts: 3, backoff: { waits: [15, 180] } }, plain: {} },
  });
/** Applies an event that happened at `at` and cancels the job of the key. */
const paid = (world: World, at = world.now(), lasts = LASTS, id = `paid ${at}`) =>
  cancelByEvent(world.ctx, { id, topic: "orders", key, at, until: at + lasts });
const isTombstone = (item: Item): item is Tombstone => item.pk.startsWith("tombstone#");
const tombstones = (world: World): Tombstone[] => world.pool.items().filter(isTombstone);
/** The tombstones that also cancel jobs which are filed after their events. */
const ahead = (world: World): Tombstone[] =>
  tombstones(world).filter(({ eventAt, until }) => eventAt < until);
const keyItem = (world: World): KeyItem | undefined =>
  world.pool.items().find((item): item is KeyItem => item.pk.startsWith("key#"));
const isTransaction = ({ operation }: Call): boolean => operation === "transact";

describe("an event", () => {
  it("cancels the job of its key, and leaves a tombstone that ends as it happened", async () => {
    const world = eventWorld();
    const { id } = await world.file({ key, delay: HOUR });
    await paid(world);
    expect(await world.home(id)).toMatchObject({ state: "cancelled" });
    expect(world.events).toContainEqual({ type: "cancelled", topic: "orders", id });
    const at = world.now();
    expect(tombstones(world)).toMatchObject([{ events: `paid ${at}`, eventAt: at, until: at }]);
    expect(world.events).not.toContainEqual(expect.objectContaining({ type: "tombstone" }));
    expect(keyItem(world)).toHaveProperty("expiresAt");
  });

  it("deletes the promoting schedule of the job that it cancels", async () => {
    const world = eventWorld();
    await world.file({ key, delay: 3 * HOUR });
    expect(world.promotions.filed.size).toBe(1);
    await paid(world);
    expect(world.promotions.filed.size).toBe(0);
  });

  it("cancels a job whose run has crashed", async () => {
    const world = eventWorld();
    const { id } = await world.file({ key });
    await crashWhileRunning(world, "orders");
    await world.pass(30 * SECOND + CLOCK_MARGIN, { ticks: false });
    await paid(world);
    expect(await world.home(id)).toMatchObject({ state: "cancelled" });
  });

  it.each<[string, Ending, object]>([
    ["fails", { end: "failed", error: "no bank" }, { lastError: "no bank", attempt: 1 }],
    ["asks to be repeated", { end: "retry-in", wait: MINUTE }, { attempt: 1 }],
    ["buries it", { end: "buried", error: "no such order" }, { lastError: "no such order", attempt: 1 }],
  ])("cancels a running job whose run then %s", async (_, ending, more) => {
    const world = eventWorld();
    const { id } = await world.file({ key });
    await consume(world, "orders", {
      run: async () => {
        await paid(world);
        return ending;
      },
    });
    expect(await world.home(id)).toMatchObject({ state: "cancelled", ...more });
    expect(ahead(world)).toEqual([]);
    await world.pass(HOUR);
    expect(world.visible("orders")).toEqual([]);
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "scheduled" });
  });

  it.each<[object, Extract<Ending, { error: string }>]>([
    [{ maxAttempts: 1 }, fail()],
    [{}, { end: "buried", error: "no such order" }],
  ])("cancels a running job that would be dead, and writes no death: %j, %j", async (more, ending) => {
    const world = eventWorld();
    const { id } = await world.file({ key, ...more });
    const run = async () => {
      await paid(world);
      return ending;
    };
    await consume(world, "orders", { run });
    expect(await world.home(id)).toMatchObject({ state: "cancelled", lastError: ending.error });
    expect(world.queues.messages({ topic: "orders", dead: true })).toEqual([]);
  });

  it.each<[string, object, Ending, (call: Call) => boolean]>([
    ["move", {}, fail(), isLook],
    ["move to when it asked to be repeated", {}, { end: "retry-in", wait: MINUTE }, isLook],
    ["death", { maxAttempts: 1 }, fail(), isAt("dead#", "insert")],
    ["burial", {}, { end: "buried", error: "no such order" }, isAt("dead#", "insert")],
  ])(
    "cancels a running job also when it comes while its run's %s is written",
    async (_, more, ending, matches) => {
      const world = eventWorld();
      const { id } = await world.file({ key, ...more });
      const run = async () => {
        meanwhile(world, matches, () => paid(world));
        return ending;
      };
      await consume(world, "orders", { run });
      expect(world.pool.hooks.before).toBeUndefined();
      expect(await world.home(id)).toMatchObject({ state: "cancelled" });
    },
  );

  it("leaves a running job done that succeeds", async () => {
    const world = eventWorld();
    const { id } = await world.file({ key });
    const at = world.now();
    const run = async () => {
      await paid(world, at);
      return { end: "done" } as const;
    };
    await consume(world, "orders", { run });
    expect(await world.home(id)).toMatchObject({ state: "done" });
    await paid(world, at);
    expect(ahead(world)).toEqual([]);
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "scheduled" });
  });

  it("for a running job has no effect after a user changes the job", async () => {
    const world = eventWorld();
    const { id } = await world.file({ key });
    await crashWhileRunning(world, "orders");
    await paid(world);
    await world.pass(30 * SECOND + CLOCK_MARGIN, { ticks: false });
    await reschedule(world.ctx, id, { dueAt: world.now() });
    await consume(world, "orders", { run: fail });
    expect(await world.home(id)).toMatchObject({ state: "scheduled", attempt: 1 });
  });

  it("leaves alone a job that was filed after its tombstone would have ended", async () => {
    const world = eventWorld();
    const at = world.now();
    await world.pass(LASTS + CLOCK_MARGIN + 1, { ticks: false });
    const { id } = await world.file({ key, delay: HOUR });
    await paid(world, at);
    expect(await world.home(id)).toMatchObject({ state: "scheduled" });
  });

  it("without a tombstone cancels a job that was filed just before by a fast clock, and no job that is filed later", async () => {
    const world = eventWorld();
    const at = world.now();
    await world.pass(CLOCK_MARGIN, { ticks: false });
    const { id } = await world.file({ key, delay: HOUR });
    await paid(world, at, 0);
    expect(await world.home(id)).toMatchObject({ state: "cancelled" });
    await world.pass(1, { ticks: false });
    await paid(world, world.now(), 0);
    expect(ahead(world)).toEqual([]);
  });
});

describe("an event before its job", () => {
  it("leaves a tombstone that TTL deletes 15 days after it ends", async () => {
    const world = eventWorld();
    const at = world.now();
    const until = at + LASTS;
    await paid(world);
    const place = tombstoneKey("orders", key);
    expect(tombstones(world)).toEqual([
      {
        ...place,
        v: 1,
        events: `paid ${at}`,
        eventAt: at,
        until,
        expiresAt: ttl(until + 15 * DAY),
      },
    ]);
    expect(world.events).toContainEqual({ type: "tombstone", topic: "orders", until });
  });

  it.each([
    ["reject", {}],
    ["keep", { onDuplicate: "keep" }],
    ["replace", { onDuplicate: "replace" }],
    ["postpone", { onDuplicate: "postpone", maxDelay: HOUR }],
    ["an Idempotency-Key", { once: { token: "t", hash: "h" } }],
  ] as const)("cancels it from the start: %s", async (_, more) => {
    const world = eventWorld();
    await paid(world);
    await world.pass(MINUTE, { ticks: false });
    const { outcome, home } = await world.fileAll({ key, delay: MINUTE, ...more });
    const end = { state: "cancelled", finishedAt: world.now(), expiresAt: ttl(world.now() + 7 * 24 * HOUR) };
    expect(outcome).toBe("created");
    expect(home).toMatchObject(end);
    expect(await world.home(home.id)).toEqual(home);
    expect(keyItem(world)).toMatchObject({ id: home.id, expiresAt: end.expiresAt });
    expect(world.events).toContainEqual({ type: "cancelled", topic: "orders", id: home.id });
    await world.pass(20 * MINUTE);
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
  });

  it("cancels a far one from the start, which gets no promoting schedule", async () => {
    const world = eventWorld();
    await paid(world);
    const home = await world.file({ key, delay: 3 * HOUR });
    expect(home).not.toHaveProperty("hasSchedule");
    expect(world.promotions.calls).toEqual({ put: 0, remove: 0 });
  });

  it("cancels each of several, also when the key has been used before", async () => {
    const world = eventWorld();
    await cancel(world.ctx, (await world.file({ key, delay: HOUR })).id);
    await world.pass(MINUTE, { ticks: false });
    await paid(world);
    const job = { topic: "orders", key, body: "{}", dueAt: world.now() + HOUR };
    expect(await enqueueMany(world.ctx, [job, job])).toMatchObject([
      { outcome: "created", home: { state: "cancelled" } },
      { outcome: "created", home: { state: "cancelled" } },
    ]);
    expect(keyItem(world)).toHaveProperty("expiresAt");
  });

  it("answers a repeat of the request with the job that it cancelled", async () => {
    const world = eventWorld();
    await paid(world);
    const once = { token: "t", hash: "h" };
    const { id } = await world.file({ key, delay: HOUR, once });
    await world.pass(LASTS, { ticks: false });
    expect(await world.fileAll({ key, delay: HOUR, once })).toMatchObject({
      outcome: "replayed",
      home: { id, state: "cancelled" },
    });
  });

  it("cancels no job of another key or topic, and none without a key", async () => {
    const world = eventWorld();
    await paid(world);
    for (const other of [{ key: "other" }, { topic: "plain", key }, {}])
      expect(await world.file({ ...other, delay: HOUR })).toMatchObject({ state: "scheduled" });
  });

  it("cancels no job that is filed after its tombstone has ended, even if TTL is late", async () => {
    const world = eventWorld();
    await paid(world);
    await world.pass(LASTS, { ticks: false });
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "scheduled" });
    expect(tombstones(world)).toHaveLength(1);
  });

  it("has no more effect on a key after the key's job, which was filed in time, has ended", async () => {
    const world = eventWorld();
    await paid(world);
    await world.file({ key, delay: HOUR });
    await world.pass(LASTS, { ticks: false });
    const { id } = await world.file({ key, delay: MINUTE });
    expect(keyItem(world)).not.toHaveProperty("expiresAt");
    await world.pass(MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id }]);
  });
});

describe("an event that arrives late", () => {
  it("cancels jobs filed after its time as its tombstone would have done, and keeps the tombstone", async () => {
    const world = eventWorld();
    const at = world.now();
    await world.pass(2 * SECOND, { ticks: false });
    const first = await world.file({ key, delay: HOUR });
    await world.pass(SECOND, { ticks: false });
    await paid(world, at);
    expect(await world.home(first.id)).toMatchObject({ state: "cancelled" });
    await world.pass(MINUTE, { ticks: false });
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "cancelled" });
  });

  it("after a job that ended before its time cancels jobs ahead", async () => {
    const world = eventWorld();
    await world.file({ key });
    await consume(world, "orders");
    await world.pass(SECOND, { ticks: false });
    await paid(world);
    expect(ahead(world)).toHaveLength(1);
  });

  it("after another event of the same second has cancelled a job from the start, does not end the tombstone", async () => {
    const world = eventWorld();
    const at = world.now();
    await paid(world, at, LASTS, "first");
    await world.pass(200, { ticks: false });
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "cancelled" });
    await paid(world, at, LASTS, "second");
    expect(ahead(world)).toMatchObject([{ until: at + LASTS }]);
  });
});

describe("an event told again", () => {
  it("after it has cancelled a job leaves no tombstone", async () => {
    const world = eventWorld();
    await world.file({ key, delay: HOUR });
    const at = world.now();
    await world.pass(SECOND, { ticks: false });
    await paid(world, at);
    await paid(world, at);
    expect(ahead(world)).toEqual([]);
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "scheduled" });
  });

  it("after it has left a tombstone leaves it as it is", async () => {
    const world = eventWorld();
    const at = world.now();
    await paid(world, at);
    const left = tombstones(world);
    await world.pass(MINUTE, { ticks: false });
    await paid(world, at);
    expect(tombstones(world)).toEqual(left);
    expect(world.events.filter(({ type }) => type === "tombstone")).toHaveLength(1);
  });

  it("only after its tombstone would have ended cancels jobs that earlier events file, and no others", async () => {
    const world = eventWorld();
    await world.file({ key });
    await consume(world, "orders");
    await world.pass(HOUR, { ticks: false });
    const at = world.now();
    await world.pass(2 * HOUR, { ticks: false });
    await paid(world, at);
    expect(tombstones(world)).toMatchObject([{ until: at + LASTS, expiresAt: ttl(world.now() + 15 * DAY) }]);
    expect(await world.file({ key, delay: HOUR, createdAt: at })).toMatchObject({
      state: "cancelled",
      createdAt: at,
      finishedAt: world.now(),
    });
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "scheduled" });
  });

  it("for a dead job leaves a tombstone, which does not stop a redrive of the job", async () => {
    const world = eventWorld();
    const { id } = await dead(world, { key });
    await world.pass(SECOND, { ticks: false });
    await paid(world);
    expect(tombstones(world)).toHaveLength(1);
    expect(await redrive(world.ctx, "orders", { max: 1, delay: 0 })).toMatchObject({ redriven: 1 });
    expect(await consume(world, "orders")).toMatchObject([{ id }]);
  });
});

describe("an event and an enqueue at once", () => {
  it("a job filed after the event looked for it and before the tombstone is written is cancelled", async () => {
    const world = eventWorld();
    meanwhile(world, isAt("tombstone#", "transact"), () => world.file({ key, delay: HOUR }));
    await paid(world);
    expect(liveHomes(world)).toEqual([]);
  });

  it("a job whose key was read before the tombstone was written is cancelled from the start", async () => {
    const world = eventWorld();
    meanwhile(world, isTransaction, () => paid(world));
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "cancelled" });
    expect(liveHomes(world)).toEqual([]);
  });

  it("an enqueue that read a tombstone which has ended notices the one that replaces it", async () => {
    const world = eventWorld();
    await paid(world);
    await world.pass(LASTS, { ticks: false });
    meanwhile(world, isTransaction, () => paid(world));
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "cancelled" });
  });

  it("a job is filed although TTL deletes a tombstone at the same time", async () => {
    const world = eventWorld();
    await paid(world);
    await world.pass(LASTS, { ticks: false });
    meanwhile(world, isTransaction, () =>
      world.pool.remove([tombstoneKey("orders", key)], world.now() + SECOND),
    );
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "scheduled" });
  });

  it("an event recognises its own tombstone if the answer to the write was lost", async () => {
    const world = eventWorld();
    breakOnce(world, "after", isAt("tombstone#", "transact"));
    await expect(paid(world)).rejects.toThrow("crash");
    await paid(world);
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "cancelled" });
  });

  it("a job filed as cancelled is answered as it was filed, even if the transaction's answer was lost", async () => {
    const world = eventWorld();
    await paid(world);
    const once = { token: "t", hash: "h" };
    breakOnce(world, "after", isTransaction);
    const { home } = await world.fileAll({ key, delay: MINUTE, once });
    expect(home).toMatchObject({ state: "cancelled" });
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
  });

  it("a job filed as cancelled is answered as it was filed, even if the call finds that job under its key", async () => {
    const world = eventWorld();
    await paid(world);
    const { pool } = world;
    const transact: Pool["transact"] = async (writes, by) => {
      await pool.transact(writes, by);
      return { done: false, refused: [pool.items()[0]] };
    };
    const job = { topic: "orders", key, body: "{}", dueAt: world.now() + MINUTE };
    const { home } = await enqueue({ ...world.ctx, pool: { ...pool, transact } }, job);
    expect(home).toMatchObject({ state: "cancelled" });
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
  });

  it("of two events at once, the tombstone of the later event stays", async () => {
    const world = eventWorld();
    const at = world.now();
    await paid(world, at);
    await world.pass(MINUTE, { ticks: false });
    meanwhile(world, isTransaction, () => paid(world, at + 9, MINUTE));
    await paid(world, at + 6);
    expect(tombstones(world)).toMatchObject([
      { events: `paid ${at}\npaid ${at + 9}`, eventAt: at + 9, until: at + 9 + MINUTE },
    ]);
  });

  it("an event whose job ends while the event cancels it has done its work, and cancels no later job", async () => {
    const world = eventWorld();
    await world.file({ key });
    meanwhile(world, isTransaction, () => consume(world, "orders"));
    await paid(world);
    expect(ahead(world)).toEqual([]);
  });

  it("whichever of many comes first, no job of the key lives", async () => {
    const world = eventWorld();
    const job = () => world.file({ key, delay: HOUR }).catch(() => {});
    await Promise.all([job(), paid(world), job(), paid(world), job(), job()]);
    expect(liveHomes(world)).toEqual([]);
  });
});

it("costs an enqueue one more read and one more check if events cancel its topic's jobs, and else nothing", async () => {
  const world = eventWorld();
  const askedBy = async (topic: string) => {
    const calls = await callsOf(world, () => world.file({ topic, key, delay: HOUR }));
    const items = calls.flatMap(({ operation, keys }) =>
      keys.map(({ pk }) => `${operation} ${pk.split("#")[0]}`),
    );
    return items.filter((item) => !/ (?:meta|\d.*)$/.test(item));
  };
  expect(await askedBy("plain")).toEqual(["read key", "transact key"]);
  expect(await askedBy("orders")).toEqual([
    "read key",
    "read tombstone",
    "transact key",
    "transact tombstone",
  ]);
});
