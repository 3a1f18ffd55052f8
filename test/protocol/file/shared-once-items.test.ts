import { describe, expect, it } from "vitest";
import { BATCH_JOBS, DAY, LANDS_WITHIN, LONGEST_DELAY } from "../../../src/core/constants.ts";
import { MinutehandError } from "../../../src/core/errors.ts";
import type { Home } from "../../../src/core/home.ts";
import type { Item, OnceItem, SharedOnceItem } from "../../../src/core/items.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import type { Enqueued, NewJob } from "../../../src/protocol/new-job.ts";
import { consume } from "../../support/consume.ts";
import { type Call, callsOf, cursors, meanwhile } from "../../support/scenes.ts";
import { breakAll, createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

type Result = Enqueued | MinutehandError;

const isShared = (item: Item): item is SharedOnceItem => "seed" in item;
const isOwn = (item: Item): item is OnceItem => "hash" in item;
const isHome = (item: Item): item is Home => "dueAt" in item;
const sharedItems = (world: World): SharedOnceItem[] => world.pool.items().filter(isShared);
const ownItems = (world: World): OnceItem[] => world.pool.items().filter(isOwn);
const homes = (world: World): Home[] => world.pool.items().filter(isHome);
const storesHome = ({ operation, keys }: Call): boolean =>
  operation === "insert" && keys.some(({ sk }) => /^\d+#[^#]+$/.test(sk));
const writesShared = ({ operation, keys }: Call): boolean =>
  operation !== "read" && keys.some(({ pk }) => pk.endsWith("§batch"));

/** The jobs of a batch with the `Idempotency-Key` `t`. Each entry changes a job that is due in an hour. */
function batchOf(world: World, changes: readonly (Partial<NewJob> & { delay?: number })[]): NewJob[] {
  return changes.map(({ delay = HOUR, ...job }, at) => ({
    topic: "orders",
    body: `${at}`,
    dueAt: world.now() + delay,
    ...job,
    once: { token: `t§${at}`, hash: `${at} is the hash`, batch: { token: "t§batch", at }, ...job.once },
  }));
}

const file = (world: World, changes: readonly (Partial<NewJob> & { delay?: number })[], ctx = world.ctx) =>
  enqueueMany(ctx, batchOf(world, changes));

function idsOf(results: readonly Result[]): string[] {
  return results.map((result) => {
    if (result instanceof Error) throw result;
    return result.home.id;
  });
}

function outcomesOf(results: readonly Result[]): string[] {
  return results.map((result) => (result instanceof MinutehandError ? result.code : result.outcome));
}

/** Files a batch of which no home is stored. */
async function dieBeforeHomes(world: World, changes: readonly (Partial<NewJob> & { delay?: number })[]) {
  const revive = breakAll(world, "before", storesHome);
  expect(new Set(outcomesOf(await file(world, changes)))).toEqual(new Set(["unavailable"]));
  revive();
  expect(homes(world)).toEqual([]);
}

const three = [{}, { delay: 2 * HOUR }, {}];

describe("the jobs of a batch with an Idempotency-Key", () => {
  it("share one once item, which is written before their homes", async () => {
    const world = createWorld();
    const calls = await callsOf(world, () => file(world, three));
    const writes = calls.filter(({ operation }) => operation !== "read");
    expect(writes.map(({ operation, keys }) => [operation, keys[0]?.sk === "once"])).toEqual([
      ["insert", true],
      ["insert", false],
      ["insert", false],
      ["insert", false],
    ]);
    expect(sharedItems(world)).toHaveLength(1);
    expect(ownItems(world)).toEqual([]);
  });

  it("are answered as they are now if the call is repeated", async () => {
    const world = createWorld();
    const first = await file(world, three);
    expect(outcomesOf(first)).toEqual(["created", "created", "created"]);
    const ids = idsOf(first);
    expect(new Set(ids).size).toBe(3);
    await cancel(world.ctx, ids[1] ?? "");
    await world.pass(2 * MINUTE);
    const items = world.pool.items();
    const again = await file(world, three);
    expect(outcomesOf(again)).toEqual(["replayed", "replayed", "replayed"]);
    expect(again).toMatchObject(
      ["scheduled", "cancelled", "scheduled"].map((state) => ({ home: { state } })),
    );
    expect(idsOf(again)).toEqual(ids);
    expect(world.pool.items()).toEqual(items);
  });

  it("run once each, at the time that they ask for", async () => {
    const world = createWorld();
    const [first = "", second = "", third = ""] = idsOf(await file(world, three));
    await file(world, three);
    const idsOfRuns = async () => (await consume(world, "orders")).map(({ id }) => id).sort();
    await world.pass(HOUR);
    expect(await idsOfRuns()).toEqual([first, third].sort());
    await world.pass(HOUR);
    expect(await idsOfRuns()).toEqual([second]);
  });

  it("share one item also if there is only one job", async () => {
    const world = createWorld();
    const ids = idsOf(await file(world, [{}]));
    expect([sharedItems(world).length, ownItems(world).length]).toEqual([1, 0]);
    expect(idsOf(await file(world, [{}]))).toEqual(ids);
  });

  it("share one item for each topic", async () => {
    const world = createWorld();
    const jobs = [{}, { topic: "work" }, {}, { topic: "work" }];
    const ids = idsOf(await file(world, jobs));
    expect(sharedItems(world)).toHaveLength(2);
    expect(idsOf(await file(world, jobs))).toEqual(ids);
  });

  it("have once items of their own if they have a key", async () => {
    const world = createWorld();
    const jobs = [{ key: "a" }, { topic: "work" }, { topic: "work", key: "b" }];
    const ids = idsOf(await file(world, jobs));
    expect(sharedItems(world)).toHaveLength(1);
    expect(ownItems(world)).toHaveLength(2);
    expect(idsOf(await file(world, jobs))).toEqual(ids);
  });

  it.each([
    ["one job", [{}], [{}, {}]],
    ["two jobs", [{}, {}], [{}]],
  ])(
    "are filed once if a call of %s and a call of another number of jobs run at once",
    async (_, one, other) => {
      const world = createWorld();
      await Promise.all([file(world, one), file(world, other)]);
      await file(world, [{}, {}]);
      expect(homes(world)).toHaveLength(2);
    },
  );

  it("are refused one by one: a refused job has no id, and a later repeat that is allowed files it", async () => {
    const world = createWorld();
    const refusal = new MinutehandError("bad-request", "not allowed");
    const first = await file(world, [{}, { refusal }, {}]);
    expect(outcomesOf(first)).toEqual(["created", "bad-request", "created"]);
    const again = await file(world, [{}, {}, {}]);
    expect(outcomesOf(again)).toEqual(["replayed", "created", "replayed"]);
    expect(idsOf(await file(world, [{}, {}, {}]))).toEqual(idsOf(again));
    expect(homes(world)).toHaveLength(3);
  });

  it("are compared one by one with the first request", async () => {
    const world = createWorld();
    await file(world, [{}, {}]);
    const other = await file(world, [{}, { once: { token: "t§1", hash: "another" } }].map(withBatch));
    expect(outcomesOf(other)).toEqual(["replayed", "idempotency-mismatch"]);
    expect(homes(world)).toHaveLength(2);
  });

  it("are replayed although the topic's rules refuse them by now", async () => {
    const world = createWorld();
    const ids = idsOf(await file(world, [{}, {}]));
    const refusal = new MinutehandError("bad-request", "not allowed any more");
    expect(idsOf(await file(world, [{ refusal }, { refusal }]))).toEqual(ids);
  });

  it("fail together if their shared item cannot be written, and nothing is filed", async () => {
    const world = createWorld();
    const revive = breakAll(world, "before", writesShared);
    expect(outcomesOf(await file(world, [{}, {}]))).toEqual(["unavailable", "unavailable"]);
    revive();
    expect(world.pool.items().filter((item) => isHome(item) || isShared(item))).toEqual([]);
  });

  it("get a schedule if they are due in more than longDelay", async () => {
    const world = createWorld({ longDelay: DAY / SECOND });
    await dieBeforeHomes(world, [{}, { delay: 3 * DAY }]);
    const [, far = ""] = idsOf(await file(world, [{}, { delay: 3 * DAY }]));
    expect(await world.home(far)).toMatchObject({ hasSchedule: true });
    expect([...world.promotions.filed.keys()]).toEqual([far]);
  });
});

/** Adds the batch to a job whose `once` a test gives. */
function withBatch(job: Partial<NewJob>, at: number): Partial<NewJob> {
  return job.once ? { ...job, once: { ...job.once, batch: { token: "t§batch", at } } } : job;
}

it("a repeat of a batch files no missing job that is overdue while no look can be filed, and a later repeat does", async () => {
  const world = createWorld();
  const overdue = [{ delay: SECOND }, { delay: 2 * SECOND }];
  await dieBeforeHomes(world, overdue);
  await world.pass(MINUTE, { ticks: false });
  world.pool.hooks.before = ({ operation, keys }) => {
    if (operation === "insert" && keys.some(({ sk }) => sk.endsWith("#look"))) throw new Error("no answer");
  };
  expect(outcomesOf(await file(world, overdue))).toEqual(["unavailable", "unavailable"]);
  expect(homes(world)).toEqual([]);
  delete world.pool.hooks.before;
  expect(outcomesOf(await file(world, overdue))).toEqual(["replayed", "replayed"]);
  expect(homes(world)).toHaveLength(2);
});

describe("a repeat of a batch while reads fail files no job a second time,", () => {
  const kinds = [
    ["of the batch's once item", /§batch$/],
    ["of once items of single jobs", /§\d+$/],
    ["of homes", /^\d{4}-/],
    ["of any item", /./],
  ] as const;
  const cases = kinds.flatMap(([what, pattern]) => [1, 2, 3].map((times) => ({ what, pattern, times })));

  it.each(cases)("if each partition $what fails $times times", async ({ pattern, times }) => {
    const world = createWorld();
    const ids = idsOf(await file(world, three));
    const reads = new Map<string, number>();
    world.pool.hooks.before = ({ operation, keys }) => {
      if (operation !== "read") return;
      const failing = new Set(keys.map(({ pk }) => pk).filter((pk) => pattern.test(pk)));
      const isFailing = [...failing].some((pk) => (reads.get(pk) ?? 0) < times);
      for (const pk of failing) reads.set(pk, (reads.get(pk) ?? 0) + 1);
      if (isFailing) throw new MinutehandError("unavailable", "no answer");
    };
    for (let i = 0; i < 4; i++) {
      const again = await file(world, three);
      for (const [at, result] of again.entries())
        if (result instanceof Error) expect(result.code).toBe("unavailable");
        else expect([result.outcome, result.home.id]).toEqual(["replayed", ids[at]]);
      expect(homes(world)).toHaveLength(3);
      await world.pass(2 * MINUTE, { ticks: false });
    }
    delete world.pool.hooks.before;
    expect(idsOf(await file(world, three))).toEqual(ids);
  });
});

describe("the shared once item of 500 jobs", () => {
  const bytesOf = (world: World): number => Buffer.byteLength(JSON.stringify(sharedItems(world)[0]));

  it("needs 4 write units if all are due at the same time", async () => {
    const world = createWorld();
    await file(
      world,
      Array.from({ length: BATCH_JOBS }, () => ({})),
    );
    expect(bytesOf(world)).toBeLessThan(4 * 1024);
  });

  it("needs at most 9 write units if they are due at any times", async () => {
    const world = createWorld();
    const step = Math.floor(LONGEST_DELAY / BATCH_JOBS) - 1;
    const jobs = Array.from({ length: BATCH_JOBS }, (_, i) => ({ delay: i * step }));
    const ids = idsOf(await file(world, jobs));
    expect(bytesOf(world)).toBeLessThan(9 * 1024);
    expect(new Set(ids).size).toBe(BATCH_JOBS);
    expect(idsOf(await file(world, jobs))).toEqual(ids);
  });
});

describe("the shared once item of a batch answers", () => {
  /** Deletes all items whose TTL has passed. */
  const leap = async (world: World, ms: number): Promise<void> => {
    await world.pass(ms, { ticks: false });
    const over = world.pool
      .items()
      .filter((item) => "expiresAt" in item && Number(item.expiresAt) * SECOND <= world.now());
    await world.pool.remove(over, world.now() + HOUR);
  };

  it("as long as one of the jobs lives, if that job is moved far ahead", async () => {
    const world = createWorld();
    const [, moved = ""] = idsOf(await file(world, three));
    await reschedule(world.ctx, moved, { dueAt: world.now() + 30 * DAY });
    await leap(world, 30 * DAY);
    const again = await file(world, three);
    expect(again[1]).toMatchObject({ outcome: "replayed", home: { id: moved } });
  });

  it("and one write prolongs it for all jobs that are moved to the same day", async () => {
    const world = createWorld();
    const ids = idsOf(await file(world, three));
    const calls = await callsOf(world, async () => {
      for (const [i, id] of ids.entries())
        await reschedule(world.ctx, id, { dueAt: world.now() + 30 * DAY + i * SECOND });
    });
    expect(calls.filter(writesShared)).toHaveLength(1);
    const [item] = sharedItems(world);
    for (const { once } of homes(world)) expect(once).toBe(`${item?.expiresAt} t§batch`);
  });

  it("for days while the topic is paused", async () => {
    const world = createWorld();
    const ids = idsOf(await file(world, [{}, {}]));
    await pauseTopic(world.ctx, "orders");
    for (let hour = 0; hour < 6 * 24; hour++) {
      await leap(world, HOUR);
      await world.tick();
    }
    expect(idsOf(await file(world, [{}, {}]))).toEqual(ids);
    expect(homes(world)).toHaveLength(2);
  });

  it("for a job until a day after the end of that job, even if its own time has passed", async () => {
    const world = createWorld();
    const jobs = [{ delay: 0 }, { delay: 0 }];
    const ids = idsOf(await file(world, jobs));
    await world.pass(4 * DAY, { ticks: false });
    await consume(world, "orders");
    await world.pass(23 * HOUR, { ticks: false });
    expect(idsOf(await file(world, jobs))).toEqual(ids);
    await world.pass(2 * HOUR, { ticks: false });
    const anew = await file(world, jobs);
    expect(outcomesOf(anew)).toEqual(["created", "created"]);
    expect(idsOf(await file(world, jobs))).toEqual(idsOf(anew));
  });

  it("for the job that used the key last, although an earlier job is redriven after that", async () => {
    const world = createWorld();
    const jobs = [{ delay: 0 }, { delay: 0 }];
    const [old = ""] = idsOf(await file(world, jobs));
    await consume(world, "orders", { run: () => ({ end: "buried", error: "x" }) });
    await world.pass(3 * DAY, { ticks: false });
    const anew = idsOf(await file(world, jobs));
    expect(anew).not.toContain(old);
    await redrive(world.ctx, "orders", { ids: [old], max: 1, delay: 9 * DAY });
    expect(idsOf(await file(world, jobs))).toEqual(anew);
  });

  it("no job of an earlier batch with the same key, so a move of that job does not prolong it", async () => {
    const world = createWorld();
    const [old = ""] = idsOf(await file(world, [{ delay: 9 * DAY }, {}]));
    const [item] = sharedItems(world);
    world.pool.put({ ...item, seed: "another" } as SharedOnceItem);
    await reschedule(world.ctx, old, { dueAt: world.now() + 30 * DAY });
    expect(sharedItems(world)).toEqual([{ ...item, seed: "another" }]);
  });
});

describe("if a batch dies before its homes are stored,", () => {
  it("a repeat stores them under the same ids, with the first due times", async () => {
    const world = createWorld();
    await dieBeforeHomes(world, three);
    await world.pass(MINUTE);
    const again = await file(world, three);
    expect(outcomesOf(again)).toEqual(["replayed", "replayed", "replayed"]);
    expect(homes(world).map(({ dueAt }) => dueAt - world.now() + MINUTE)).toEqual([HOUR, HOUR, 2 * HOUR]);
    expect(idsOf(await file(world, three))).toEqual(idsOf(again));
    expect(ownItems(world)).toEqual([]);
  });

  it("and the first call stores its homes after a repeat has stored them, each job is filed once", async () => {
    const world = createWorld();
    let repeat: Result[] = [];
    meanwhile(world, storesHome, async () => {
      await world.pass(SECOND);
      repeat = await file(world, three);
    });
    const first = await file(world, three);
    expect(outcomesOf(repeat)).toEqual(["replayed", "replayed", "replayed"]);
    expect(outcomesOf(first)).toEqual(["replayed", "replayed", "replayed"]);
    expect(idsOf(first)).toEqual(idsOf(repeat));
  });

  it("and a job was cancelled before the first call comes to store it, the first call learns that", async () => {
    const world = createWorld();
    meanwhile(world, storesHome, async () => {
      await world.pass(SECOND);
      const [id = ""] = idsOf(await file(world, [{ delay: MINUTE }, {}]));
      await cancel(world.ctx, id);
    });
    const first = await file(world, [{ delay: MINUTE }, {}]);
    expect(first[0]).toMatchObject({ outcome: "replayed", home: { state: "cancelled" } });
  });

  it("a repeat stores only the missing homes, and sends the jobs that are due", async () => {
    const world = createWorld();
    const jobs = [{ delay: 0 }, { delay: 0 }, { delay: 0 }];
    const [, second = ""] = idsOf(await file(world, jobs));
    world.queues.purge({ topic: "orders" });
    const lost = homes(world).filter(({ id }) => id !== second);
    await world.pool.remove(lost, world.now() + MINUTE);
    const calls = await callsOf(world, () => file(world, jobs));
    expect(calls.filter(storesHome)).toHaveLength(2);
    expect(await consume(world, "orders")).toHaveLength(3);
  });

  it("an audit sends a job that a repeat has stored behind the audit's cursor", async () => {
    const world = createWorld();
    // The place of the audit is written every fourth minute. From this minute on, it is written just before the repeat stores its jobs.
    await world.pass(23 * MINUTE + 50 * SECOND);
    const jobs = [{ delay: 0 }, { delay: 0 }];
    await dieBeforeHomes(world, jobs);
    await world.pass(LANDS_WITHIN - SECOND);
    meanwhile(world, storesHome, () => world.pass(59 * SECOND));
    await file(world, jobs);
    for (const { audited } of cursors(world)) expect(audited > (homes(world)[0]?.sk ?? "")).toBe(true);
    world.queues.purge({ topic: "orders" });
    await world.pass(20 * MINUTE);
    expect(await consume(world, "orders")).toHaveLength(2);
  });

  it.each([LANDS_WITHIN, 90 * MINUTE, 23 * HOUR])(
    "a repeat after %i ms stores them under the same ids, with the first due times",
    async (wait) => {
      const world = createWorld();
      await dieBeforeHomes(world, three);
      const filedAt = world.now();
      await world.pass(wait, { ticks: false });
      const again = await file(world, three);
      expect(outcomesOf(again)).toEqual(["replayed", "replayed", "replayed"]);
      expect(homes(world).map(({ dueAt }) => dueAt - filedAt)).toEqual([HOUR, HOUR, 2 * HOUR]);
      expect(idsOf(await file(world, three))).toEqual(idsOf(again));
      expect(ownItems(world)).toEqual([]);
      await world.pass(3 * HOUR);
      expect(new Set(world.visible("orders").map(({ id }) => id))).toEqual(new Set(idsOf(again)));
    },
  );

  it("a repeat after minutes stores only the missing jobs", async () => {
    const world = createWorld();
    const ids = idsOf(await file(world, [{}, {}]));
    await world.pool.remove([await world.home(ids[1] ?? "")], world.now() + MINUTE);
    await world.pass(LANDS_WITHIN);
    const calls = await callsOf(world, async () => {
      expect(idsOf(await file(world, [{}, {}]))).toEqual(ids);
    });
    expect(calls.filter(storesHome)).toHaveLength(1);
  });

  it("a repeat that stores them slowly keeps later repeats from filing new jobs meanwhile", async () => {
    const world = createWorld();
    await dieBeforeHomes(world, three);
    await world.pass(LANDS_WITHIN - SECOND);
    let later: Result[] = [];
    meanwhile(world, storesHome, async () => {
      await world.pass(2 * SECOND);
      later = await file(world, three);
    });
    const slow = await file(world, three);
    expect(idsOf(later)).toEqual(idsOf(slow));
    expect(homes(world)).toHaveLength(3);
  });

  it("two late repeats at once file each job once", async () => {
    const world = createWorld();
    await dieBeforeHomes(world, three);
    await world.pass(LANDS_WITHIN);
    let other: Result[] = [];
    meanwhile(world, storesHome, async () => {
      other = await file(world, three);
    });
    const first = await file(world, three);
    expect(idsOf(first)).toEqual(idsOf(other));
    expect(homes(world)).toHaveLength(3);
  });

  it("a repeat is refused if the topic's rules refuse the jobs by now", async () => {
    const world = createWorld();
    await dieBeforeHomes(world, [{}, {}]);
    const refusal = new MinutehandError("bad-request", "not allowed any more");
    expect(await file(world, [{ refusal }, {}])).toMatchObject([refusal, { outcome: "replayed" }]);
    expect(homes(world)).toHaveLength(1);
  });
});

describe("a write of a dead call that takes effect minutes later files no job a second time:", () => {
  it.each([
    ["of the once item", isShared],
    ["of the homes", isHome],
  ])("the write %s", async (_, matches) => {
    const world = createWorld();
    const { insert } = world.pool;
    const late: Item[] = [];
    world.pool.insert = async (items, by) => {
      if (!items.some(matches)) return insert(items, by);
      late.push(...items);
      return items.map(() => new MinutehandError("unavailable", "no answer"));
    };
    expect(new Set(outcomesOf(await file(world, three)))).toEqual(new Set(["unavailable"]));
    world.pool.insert = insert;
    await world.pass(LANDS_WITHIN - SECOND);
    const ids = idsOf(await file(world, three));
    for (const item of late) await insert([item], world.now() + SECOND);
    expect(idsOf(await file(world, three))).toEqual(ids);
    expect(homes(world)).toHaveLength(3);
  });
});

describe("two calls of the same batch at once file each job once", () => {
  it("if both want to write the shared item", async () => {
    const world = createWorld();
    let other: Result[] = [];
    meanwhile(world, writesShared, async () => {
      other = await file(world, three);
      await world.pass(SECOND);
    });
    const first = await file(world, three);
    expect(outcomesOf(first)).toEqual(["replayed", "replayed", "replayed"]);
    expect(idsOf(first)).toEqual(idsOf(other));
    expect(homes(world)).toHaveLength(3);
  });

  it("if each of them has a job that the item does not name yet", async () => {
    const world = createWorld();
    const [first = ""] = idsOf(await file(world, [{}]));
    let other: Result[] = [];
    meanwhile(world, writesShared, async () => {
      other = await file(world, [{}, {}]);
    });
    const mine = await file(world, three);
    expect(outcomesOf(mine)).toEqual(["replayed", "replayed", "created"]);
    expect(idsOf(mine).slice(0, 2)).toEqual(idsOf(other));
    expect(idsOf(await file(world, three))).toEqual(idsOf(mine));
    expect(idsOf(mine)[0]).toBe(first);
    expect(homes(world)).toHaveLength(3);
  });
});

describe("a batch is recognised", () => {
  it("and no job that was cancelled is sent again", async () => {
    const world = createWorld();
    const [id = ""] = idsOf(await file(world, three));
    await cancel(world.ctx, id);
    await world.pass(58 * MINUTE);
    world.queues.purge({ topic: "orders" });
    await file(world, three);
    await world.pass(2 * MINUTE);
    expect(world.visible("orders").map((job) => job.id)).not.toContain(id);
    expect(world.visible("orders")).toHaveLength(1);
  });

  it.each([1, 16])("if the number of shards was 4 at the first call, and is %i by now", async (shards) => {
    const world = createWorld({ shards: 4 });
    const jobs = Array.from({ length: 10 }, () => ({}));
    const ids = idsOf(await file(world, jobs));
    const { ctx, pool } = world;
    // A process that does not remember the number.
    const later = { ...ctx, pool: Object.create(pool), policy: { ...ctx.policy, shards } };
    expect(idsOf(await file(world, jobs, later))).toEqual(ids);
    expect(homes(world)).toHaveLength(10);
  });

  it("if it is longer by now and the number of shards has grown", async () => {
    const world = createWorld({ shards: 2 });
    const ids = idsOf(await file(world, [{}, {}]));
    const { ctx, pool } = world;
    const later = { ...ctx, pool: Object.create(pool), policy: { ...ctx.policy, shards: 16 } };
    const longer = await file(world, three, later);
    expect(idsOf(longer).slice(0, 2)).toEqual(ids);
    expect(idsOf(await file(world, three))).toEqual(idsOf(longer));
    expect(homes(world)).toHaveLength(3);
  });

  it("if it is shorter", async () => {
    const world = createWorld();
    const ids = idsOf(await file(world, three));
    const items = world.pool.items();
    expect(idsOf(await file(world, [{}]))).toEqual(ids.slice(0, 1));
    expect(world.pool.items()).toEqual(items);
  });

  it("if it is longer: the further jobs are filed, and the one item names them too", async () => {
    const world = createWorld();
    const ids = idsOf(await file(world, [{}]));
    const longer = await file(world, three);
    expect(outcomesOf(longer)).toEqual(["replayed", "created", "created"]);
    expect(idsOf(longer)[0]).toBe(ids[0]);
    expect(idsOf(await file(world, three))).toEqual(idsOf(longer));
    expect([sharedItems(world).length, ownItems(world).length]).toEqual([1, 0]);
  });

  it("but its jobs are refused if they come in another order", async () => {
    const world = createWorld();
    await file(world, [{}, {}]);
    const [first, second] = batchOf(world, [{}, {}]) as [NewJob, NewJob];
    const swapped = [
      { ...second, once: { ...second.once, batch: first.once?.batch } },
      { ...first, once: { ...first.once, batch: second.once?.batch } },
    ] as NewJob[];
    const results = await enqueueMany(world.ctx, swapped);
    expect(outcomesOf(results)).toEqual(["idempotency-mismatch", "idempotency-mismatch"]);
    expect(homes(world)).toHaveLength(2);
  });

  it("and not mixed up with a single call of the same key", async () => {
    const world = createWorld();
    const single = () => world.fileAll({ once: { token: "t", hash: "single" }, delay: HOUR });
    const ids = idsOf(await file(world, [{}, {}]));
    const { home } = await single();
    expect(ids).not.toContain(home.id);
    expect(await single()).toMatchObject({ outcome: "replayed", home: { id: home.id } });
    expect(idsOf(await file(world, [{}, {}]))).toEqual(ids);
    expect(homes(world)).toHaveLength(3);
  });

  it("if the answer to the write of its shared item was lost", async () => {
    const world = createWorld();
    const { insert } = world.pool;
    world.pool.insert = async (items, by) => {
      const outcomes = await insert(items, by);
      return items.some(isShared) ? insert(items, by) : outcomes;
    };
    expect(outcomesOf(await file(world, three))).toEqual(["created", "created", "created"]);
  });

  it("not if a newer version wrote its shared item: its jobs fail, and are not filed", async () => {
    const world = createWorld();
    await file(world, three);
    const [item] = sharedItems(world);
    world.pool.put({ ...item, v: 2 } as SharedOnceItem);
    await world.pool.remove(homes(world), world.now() + MINUTE);
    expect(new Set(outcomesOf(await file(world, three)))).toEqual(new Set(["unavailable"]));
    expect(homes(world)).toEqual([]);
  });
});
