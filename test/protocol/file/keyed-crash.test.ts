import { describe, expect, it } from "vitest";
import { LANDS_WITHIN } from "../../../core/constants.ts";
import type { Home, Item, KeyItem } from "../../../core/items.ts";
import { cancelByKey } from "../../../protocol/change/cancel.ts";
import { cancelByEvent } from "../../../protocol/change/cancel-by-event.ts";
import { redrive, redriveJob } from "../../../protocol/change/redrive.ts";
import { enqueue } from "../../../protocol/file/enqueue.ts";
import type { Context } from "../../../protocol/ports.ts";
import { listJobs } from "../../../protocol/read/list.ts";
import { readJob } from "../../../protocol/store/read-job.ts";
import { consume } from "../../support/consume.ts";
import { type Call, callsOf, dead, isAt, key, liveHomes, meanwhile } from "../../support/scenes.ts";
import { breakAll, breakOnce, createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

/** Whether a call stores homes. */
const isStore = ({ operation, keys }: Call): boolean =>
  operation === "insert" && keys.every(({ pk, sk }) => !pk.startsWith("key#") && !sk.endsWith("#look"));

const placeholders = (world: World): Home[] =>
  world.pool.items().filter((item): item is Home => "isPlaceholder" in item);

/** Leaves what a call leaves that dies after it has written the key item, and before it stores the home. */
async function dieBetween(world: World): Promise<void> {
  breakOnce(world, "before", isStore);
  await expect(world.file({ key, delay: HOUR })).rejects.toThrow("crash");
  expect(liveHomes(world)).toEqual([]);
}

describe("a call that files a job under a key", () => {
  it("writes the key item, and then the home", async () => {
    const world = createWorld();
    const calls = await callsOf(world, () => world.file({ key, delay: HOUR }));
    const writes = calls.filter(({ operation }) => operation !== "read");
    expect(writes.map(({ operation, keys }) => [operation, keys.length])).toEqual([
      ["insert", 1],
      ["insert", 1],
    ]);
    expect(writes[0]?.keys[0]?.pk).toMatch(/^key#/);
  });

  it("leaves the key to the next call if it dies between the two writes", async () => {
    const world = createWorld();
    await dieBetween(world);
    const { id } = await world.file({ key, delay: HOUR });
    expect(liveHomes(world)).toMatchObject([{ id, key }]);
    expect(placeholders(world)).toMatchObject([{ state: "cancelled" }]);
  });

  it("leaves no trace in lists if it dies between the two writes", async () => {
    const world = createWorld();
    await dieBetween(world);
    const { id } = await world.file({ key, delay: HOUR });
    const range = { from: world.now(), to: world.now() + 2 * HOUR, limit: 100 };
    expect((await listJobs(world.ctx, range)).homes).toMatchObject([{ id }]);
  });

  it("stores no job if another call has taken the key in the meantime, however late its write lands", async () => {
    const world = createWorld();
    let other: Home | undefined;
    meanwhile(world, isStore, async () => {
      other = await world.file({ key, delay: HOUR });
    });
    const refusal = await world.file({ key, delay: 2 * HOUR }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "job-already-exists", data: { id: other?.id } });
    expect(liveHomes(world)).toMatchObject([{ id: other?.id }]);
  });

  it("stores its job if another call reads the key between the two writes", async () => {
    const world = createWorld();
    const read = Promise.withResolvers<void>();
    let other: Promise<unknown> | undefined;
    meanwhile(world, isStore, async () => {
      let reads = 0;
      world.pool.hooks.before = ({ operation }) => {
        if (operation === "read" && ++reads === 4) read.resolve();
      };
      other = world.file({ key, delay: HOUR }).catch((error: unknown) => error);
      await read.promise;
    });
    const { id } = await world.file({ key, delay: HOUR });
    expect(await other).toMatchObject({ code: "job-already-exists", data: { id } });
    expect(liveHomes(world)).toMatchObject([{ id }]);
    expect(placeholders(world)).toEqual([]);
  });

  it.each(["insert", "change"])(
    "files one job if the answer to its %s of the key item is lost",
    async (operation) => {
      const world = createWorld();
      if (operation === "change") {
        await world.file({ key });
        await consume(world, "orders");
      }
      breakOnce(
        world,
        "after",
        (call) => call.operation === operation && call.keys[0]?.pk.startsWith("key#") === true,
      );
      await world.file({ key, delay: HOUR }).catch(() => world.file({ key, delay: HOUR }));
      expect(liveHomes(world)).toHaveLength(1);
    },
  );

  const replaceOnce = (world: World, matches: (call: Call) => boolean): void => {
    world.pool.hooks.after = async (call) => {
      if (!matches(call)) return;
      delete world.pool.hooks.after;
      await world.fileAll({ key, delay: 2 * HOUR, onDuplicate: "replace" });
    };
  };

  it("answers the job as it filed it, although another call has replaced it since", async () => {
    const world = createWorld();
    const at = world.now() + HOUR;
    replaceOnce(world, isStore);
    const insert: Context["pool"]["insert"] = async (items, by) => {
      const outcomes = await world.pool.insert(items, by);
      const keys = items.map(({ pk, sk }) => ({ pk, sk }));
      // The answer was lost, and the pool repeated the call.
      return isStore({ operation: "insert", keys }) ? outcomes.map(() => "exists" as const) : outcomes;
    };
    const ctx = { ...world.ctx, pool: { ...world.pool, insert } };
    const filed = await enqueue(ctx, { topic: "orders", key, body: "{}", dueAt: at });
    expect(filed).toMatchObject({ outcome: "created", home: { dueAt: at } });
    expect(liveHomes(world)).toMatchObject([{ id: filed.home.id, dueAt: at + HOUR }]);
  });

  it("answers the job as it filed it in a transaction, although another call has replaced it since", async () => {
    const world = createWorld({ topics: { orders: { cancelledByEvents: true } } });
    const at = world.now() + HOUR;
    replaceOnce(world, ({ operation }) => operation === "transact");
    let isFirst = true;
    const transact: Context["pool"]["transact"] = async (writes, by) => {
      const outcome = await world.pool.transact(writes, by);
      // The answer was lost, and the pool repeated the call.
      if (isFirst && outcome.done) {
        isFirst = false;
        return { done: false, refused: writes.map(() => undefined) };
      }
      return outcome;
    };
    const ctx = { ...world.ctx, pool: { ...world.pool, transact } };
    const filed = await enqueue(ctx, { topic: "orders", key, body: "{}", dueAt: at });
    expect(filed).toMatchObject({ outcome: "created", home: { dueAt: at } });
    expect(liveHomes(world)).toMatchObject([{ id: filed.home.id, dueAt: at + HOUR }]);
  });

  it("needs no placeholder if the first call cannot store its job any more", async () => {
    const world = createWorld();
    await dieBetween(world);
    await world.pass(LANDS_WITHIN);
    const { id } = await world.file({ key, delay: HOUR });
    expect(liveHomes(world)).toMatchObject([{ id }]);
    expect(placeholders(world)).toEqual([]);
  });

  it("leaves a key item that the audit releases, if the call that takes the key dies too", async () => {
    const world = createWorld();
    await dieBetween(world);
    const end = breakAll(
      world,
      "before",
      ({ operation, keys }) => operation === "change" && keys[0]?.pk.startsWith("key#") === true,
    );
    await expect(world.file({ key, delay: HOUR })).rejects.toThrow("crash");
    end();
    await world.pass(HOUR + 30 * MINUTE);
    const [item] = world.pool.items().filter(({ pk }) => pk.startsWith("key#"));
    expect(item).toHaveProperty("expiresAt");
  });
});

/**
 * Files a job whose home does not land: its caller got an error. Answers a function that lets the write land. A write may land until
 * `LANDS_WITHIN` has passed.
 */
async function fileSlowly(world: World): Promise<() => Promise<void>> {
  const late: Item[] = [];
  const insert: Context["pool"]["insert"] = async (items, by) => {
    if (!items.some((item) => "body" in item)) return world.pool.insert(items, by);
    late.push(...items);
    return items.map(() => new Error("no answer"));
  };
  const ctx = { ...world.ctx, pool: { ...world.pool, insert } };
  const filed = enqueue(ctx, { topic: "orders", key, body: "{}", dueAt: world.now() + HOUR });
  await expect(filed).rejects.toMatchObject({ code: "unavailable" });
  return async () => void (await world.pool.insert(late, world.now() + MINUTE));
}

/** Lets a late home land just after it was read, and lets the answer to that read take more than half a minute. */
function landAfterTheRead(world: World, id: string | undefined, land: () => Promise<void>): void {
  world.pool.hooks.after = async ({ operation, keys }) => {
    if (operation !== "read" || !keys.some(({ sk }) => id !== undefined && sk.endsWith(id))) return;
    delete world.pool.hooks.after;
    await land();
    await world.pass(36 * SECOND, { ticks: false });
  };
}

const namedId = (world: World): string | undefined =>
  world.pool.items().find((item): item is KeyItem => item.pk.startsWith("key#"))?.id;

describe("a key item whose home lands at the last moment", () => {
  it("is not taken by a call that has read the home just before", async () => {
    const world = createWorld();
    const land = await fileSlowly(world);
    await world.pass(LANDS_WITHIN - 30 * SECOND, { ticks: false });
    landAfterTheRead(world, namedId(world), land);
    await world.file({ key, delay: HOUR }).catch(() => {});
    expect(liveHomes(world)).toHaveLength(1);
  });

  it("is not taken by a redrive that has read the home just before", async () => {
    const world = createWorld();
    const { id } = await dead(world, { key });
    await world.file({ key });
    await consume(world, "orders");
    const land = await fileSlowly(world);
    await world.pass(LANDS_WITHIN - 30 * SECOND, { ticks: false });
    landAfterTheRead(world, namedId(world), land);
    await redriveJob(world.ctx, await world.home(id), world.now() + HOUR);
    expect(liveHomes(world)).toHaveLength(1);
  });
});

describe("a placeholder", () => {
  it("is no job for those who read or cancel its key", async () => {
    const world = createWorld();
    await dieBetween(world);
    breakOnce(world, "before", isAt("key#", "change"));
    await expect(world.file({ key, delay: HOUR })).rejects.toThrow("crash");
    expect(placeholders(world)).toHaveLength(1);
    const missing = { code: "job-not-found" };
    await expect(cancelByKey(world.ctx, "orders", key)).rejects.toMatchObject(missing);
    await expect(readJob(world.ctx, namedId(world) ?? "")).rejects.toMatchObject(missing);
  });

  it("is no job that an event has cancelled", async () => {
    const topics = { orders: { cancelledByEvents: true as const } };
    const before = createWorld();
    const world = createWorld({ topics });
    const ctx = { ...world.ctx, policy: before.ctx.policy };
    const job = { topic: "orders", key, body: "{}", dueAt: world.now() + HOUR };
    for (const dies of [isStore, isAt("key#", "change")]) {
      breakOnce(world, "before", dies);
      await expect(enqueue(ctx, job)).rejects.toThrow("crash");
    }
    expect(placeholders(world)).toHaveLength(1);
    const at = world.now() - SECOND;
    await cancelByEvent(world.ctx, { topic: "orders", key, id: "paid", at, until: at + HOUR });
    expect(await world.file({ key, delay: HOUR })).toMatchObject({ state: "cancelled" });
  });
});

describe("a redrive of a job whose key names a job that was never stored", () => {
  async function deadBehindUnstored(world: World): Promise<Home> {
    const job = await dead(world, { key });
    // The key of a dead job is taken in one transaction. A later call then dies between its two writes.
    await world.file({ key });
    await consume(world, "orders");
    await dieBetween(world);
    return job;
  }
  const run = (world: World) => redrive(world.ctx, "orders", { max: 10, delay: HOUR });

  it("leaves the job dead while the other job may still be stored", async () => {
    const world = createWorld();
    await deadBehindUnstored(world);
    expect(await run(world)).toMatchObject({ redriven: 0 });
  });

  it("takes the key when the other job cannot be stored any more", async () => {
    const world = createWorld();
    const { id } = await deadBehindUnstored(world);
    await world.pass(LANDS_WITHIN);
    expect(await run(world)).toMatchObject({ redriven: 1 });
    expect(liveHomes(world)).toMatchObject([{ id }]);
    await expect(world.file({ key })).rejects.toMatchObject({ code: "job-already-exists", data: { id } });
  });
});
