import { describe, expect, test } from "vitest";
import { DAY, PAUSE_KNOWN_FOR } from "../../../src/core/constants.ts";
import { pausedTopicKey, pauseKey } from "../../../src/core/item-keys.ts";
import type { Item, Pause } from "../../../src/core/items.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic, resumeTopic } from "../../../src/protocol/change/pause.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { carryOutPauses } from "../../../src/protocol/hand-over/carry-out-pauses.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { reportTopics } from "../../../src/protocol/read/topics.ts";
import { receive } from "../../../src/protocol/run/pull.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import { fail, isAt, liveHomes, meanwhile, orders } from "../../support/scenes.ts";
import { sweepAll } from "../../support/sweep-all.ts";
import {
  breakAll,
  breakOnce,
  createWorld,
  HOUR,
  MINUTE,
  SECOND,
  START,
  type World,
} from "../../support/world.ts";

const parked = (world: World, topic = "orders"): Item[] =>
  world.pool.items().filter(({ pk }) => pk.startsWith(`paused#${topic}#`));
const pauseItem = (world: World, topic = "orders"): Pause | undefined =>
  world.pool.items().find(({ pk }) => pk === pauseKey(topic).pk) as Pause | undefined;
const sweepShards = (world: World) =>
  Promise.all([0, 1].map((shard) => sweepAll(world.ctx, shard, world.now() + MINUTE)));
/** Runs all visible jobs as a consumer does, in several rounds with ticks. */
const runFor = async (world: World, ms: number, topic = "orders") => {
  const runs = [];
  for (const end = world.now() + ms; world.now() < end; ) {
    await world.pass(10 * SECOND);
    runs.push(...(await consume(world, topic)));
  }
  return runs;
};

/** Runs the visible jobs with one message for each receive, because two messages of one job in one receive would run once. */
const runOneByOne = async (world: World, ms: number) => {
  const runs = [];
  for (const end = world.now() + ms; world.now() < end; ) {
    await world.pass(10 * SECOND);
    for (let some = await consume(world, "events", { max: 1 }); some.length > 0; ) {
      runs.push(...some);
      some = await consume(world, "events", { max: 1 });
    }
  }
  return runs;
};

describe("a paused topic's jobs", () => {
  test("are parked when they become due, delay no other topic, and start when the topic is resumed", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    const near = await world.file({ delay: MINUTE });
    const far = await world.file({ delay: 20 * MINUTE });
    const other = await world.file({ topic: "precise", delay: 20 * MINUTE });
    expect(parked(world)).toHaveLength(1);
    await world.pass(20 * MINUTE);
    expect((await consume(world, "precise")).map(({ id }) => id)).toEqual([other.id]);
    await world.pass(10 * MINUTE);
    expect(parked(world)).toHaveLength(2);
    expect(world.queues.messages(orders)).toEqual([]);
    expect(world.events.filter(({ type }) => type === "audited")).not.toContainEqual(
      expect.objectContaining({ found: 1 }),
    );

    expect(await resume(world.ctx, "orders", undefined)).toEqual({ released: 2, left: 0 });
    const runs = await consume(world, "orders");
    expect(runs.map(({ id }) => id).sort()).toEqual([near.id, far.id].sort());
    expect(await world.home(far.id)).toMatchObject({ dueAt: far.dueAt, state: "done" });
    expect(parked(world)).toEqual([]);
    const started = world.events.filter(({ type }) => type === "started");
    expect(started).toContainEqual(
      expect.objectContaining({ id: far.id, lateMs: 10 * MINUTE, heldMs: 10 * MINUTE }),
    );
  });

  test("start when the topic is resumed, even if a process died after it moved them and before it sent them", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    const home = await world.file({ delay: 0 });
    let isDead = false;
    const dies = {
      ...world.ctx,
      pool: {
        ...world.pool,
        insert: async (items: readonly Item[], by: number) => {
          isDead ||= items.some(({ pk }) => pk.startsWith("paused#"));
          if (isDead) throw new Error("dies");
          return world.pool.insert(items, by);
        },
      },
    };
    await expect(reschedule(dies, home.id, { dueAt: world.now() + MINUTE })).rejects.toThrow("dies");
    expect(await world.home(home.id)).toMatchObject({ revision: 1 });
    await resume(world.ctx, "orders", undefined);
    // The audit finds the job.
    await world.pass(16 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id: home.id }]);
  });

  test("start at the rate that the resume asks for, the oldest first, and say when in heldUntil", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push((await world.file({ delay: i * SECOND })).id);
    await world.pass(HOUR);
    const start = world.now();
    expect(await resume(world.ctx, "orders", 0.01)).toEqual({ released: 1, left: 5 });
    const runs = await runFor(world, 10 * MINUTE);
    for (const [i, id] of ids.entries())
      expect(await world.home(id)).toMatchObject({ heldUntil: start + i * 100 * SECOND, revision: 1 });
    expect(runs.map(({ id }) => id)).toEqual(ids);
    for (const [i, { at }] of runs.entries()) expect(at).toBeGreaterThanOrEqual(start + i * 100 * SECOND);
  });

  test("keep to the resume's rate although SQS had their messages before, and new jobs do not wait for them", async () => {
    const world = createWorld();
    // The sweep has passed the due time of jobs that are filed now.
    await world.tick();
    for (let i = 0; i < 4; i++) await world.file({ delay: MINUTE });
    await pauseTopic(world.ctx, "orders");
    await world.pass(5 * MINUTE);
    const from = world.now();
    await resume(world.ctx, "orders", 0.1);
    const late = await world.file({ delay: 5 * SECOND });
    expect(await consume(world, "orders")).toEqual([]);
    const runs = await runFor(world, 3 * MINUTE);
    expect(runs).toHaveLength(5);
    expect(runs[0]).toMatchObject({ id: late.id });
    const times = runs.slice(1).map(({ at }) => at - from);
    for (const [i, time] of times.entries()) expect(time).toBeGreaterThanOrEqual(i * 10 * SECOND);
    expect(parked(world)).toEqual([]);
  });

  test("can be cancelled and moved", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    const dropped = await world.file({ delay: 0 });
    const moved = await world.file({ delay: 0 });
    const kept = await world.file({ delay: 0 });
    await world.pass(HOUR);
    expect(await cancel(world.ctx, dropped.id)).toMatchObject({ state: "cancelled" });
    const later = world.now() + 2 * HOUR;
    await reschedule(world.ctx, moved.id, { dueAt: later });
    expect(await resume(world.ctx, "orders", undefined)).toEqual({ released: 1, left: 0 });
    expect((await consume(world, "orders")).map(({ id }) => id)).toEqual([kept.id]);
    expect(await world.home(moved.id)).toMatchObject({ dueAt: later, revision: 1 });
    expect((await runFor(world, 3 * HOUR)).map(({ id }) => id)).toEqual([moved.id]);
  });

  test("that SQS has already are parked when a consumer receives them, and run once", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: MINUTE });
    await pauseTopic(world.ctx, "orders");
    await world.pass(2 * MINUTE);
    expect(await consume(world, "orders")).toEqual([]);
    expect(world.queues.messages(orders)).toEqual([]);
    expect(world.events).toContainEqual({ type: "dropped", topic: "orders", id, reason: "paused" });
    await resume(world.ctx, "orders", undefined);
    expect(await runFor(world, HOUR)).toHaveLength(1);
  });

  test("are held by one pause if two calls pause the topic at the same moment, and one of them is reported", async () => {
    const world = createWorld();
    await Promise.all([pauseTopic(world.ctx, "orders"), pauseTopic(world.ctx, "orders")]);
    expect(world.events.filter(({ type }) => type === "paused")).toHaveLength(1);
    await world.file({ delay: 0 });
    expect(await consume(world, "orders")).toEqual([]);
  });

  test("are held, after five seconds, by consumers that did not know the pause", async () => {
    const world = createWorld();
    await world.file({ delay: 0 });
    expect(await consume(world, "orders")).toHaveLength(1);
    // Another process pauses the topic, so this process knows only what it read last.
    const others = { ...world.ctx, pool: { ...world.pool } };
    await pauseTopic(others, "orders");
    await world.pass(PAUSE_KNOWN_FOR);
    await world.file({ delay: 0 });
    await world.pass(SECOND);
    expect(await consume(world, "orders")).toEqual([]);
  });

  test("are held although the pause came while other jobs of their batch waited for new starts", async () => {
    const world = createWorld({ topics: { limited: { maxPerSecond: 5 } } });
    // This job waits in the queue during a pause, so that it needs a new start after the resume.
    await world.file({ topic: "limited", delay: MINUTE });
    await world.pass(50 * SECOND, { ticks: false });
    await pauseTopic(world.ctx, "limited");
    await world.pass(30 * SECOND, { ticks: false });
    await resume(world.ctx, "limited", undefined);
    const mate = await world.file({ topic: "limited", delay: 0 });
    await world.pass(1500, { ticks: false });
    world.pool.hooks.before = async ({ operation }) => {
      if (operation !== "count") return;
      delete world.pool.hooks.before;
      await pauseTopic({ ...world.ctx, pool: { ...world.pool } }, "limited");
      await world.pass(9 * SECOND, { ticks: false });
    };
    expect(await consume(world, "limited")).toEqual([]);
    expect(world.pool.hooks.before).toBeUndefined();
    await resume(world.ctx, "limited", undefined);
    expect((await runFor(world, 5 * MINUTE, "limited")).map(({ id }) => id)).toContain(mate.id);
  });

  test("whose run has crashed are sent when the topic is resumed, and run again", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: 0 });
    await crashWhileRunning(world, "orders");
    world.queues.purge(orders);
    await pauseTopic(world.ctx, "orders");
    await world.pass(2 * HOUR);
    expect(parked(world)).toHaveLength(1);
    await resume(world.ctx, "orders", undefined);
    expect(await runFor(world, HOUR)).toMatchObject([{ id, attempt: 2 }]);
  });

  test("that are redriven or fail stay held", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: 0 });
    await consume(world, "orders", { run: fail });
    await pauseTopic(world.ctx, "orders");
    expect(await runFor(world, 10 * MINUTE)).toEqual([]);
    expect(parked(world)).toHaveLength(1);
    await resume(world.ctx, "orders", undefined);
    expect(await runFor(world, MINUTE)).toMatchObject([{ id, attempt: 2 }]);
  });
});

describe("a pause", () => {
  test("is the same when the topic is paused again, and a resume of a topic that is not paused does nothing", async () => {
    const world = createWorld();
    expect(await resume(world.ctx, "orders", undefined)).toEqual({ released: 0, left: 0 });
    expect(pauseItem(world)).toBeUndefined();
    const { since } = await pauseTopic(world.ctx, "orders");
    await world.pass(MINUTE);
    expect((await pauseTopic(world.ctx, "orders")).since).toBe(since);
  });

  test("takes effect even if its answer is lost, and so does its resume", async () => {
    const world = createWorld();
    breakOnce(world, "after", isAt("pause#", "insert"));
    await expect(pauseTopic(world.ctx, "orders")).rejects.toThrow("crash");
    await world.file({ delay: 0 });
    expect(parked(world)).toHaveLength(1);
    breakOnce(world, "after", isAt("pause#", "change"));
    await expect(resume(world.ctx, "orders", undefined)).rejects.toThrow("crash");
    expect(await runFor(world, 2 * MINUTE)).toHaveLength(1);
  });

  test("during a resume of the topic holds the jobs that are not yet released", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    for (let i = 0; i < 3; i++) await world.file({ delay: 0 });
    await world.pass(SECOND);
    await resume(world.ctx, "orders", 1 / 60);
    expect(await consume(world, "orders")).toHaveLength(1);
    await pauseTopic(world.ctx, "orders");
    expect(await runFor(world, 10 * MINUTE)).toEqual([]);
    await resume(world.ctx, "orders", undefined);
    expect(await runFor(world, MINUTE)).toHaveLength(2);
  });

  test("that ends while a sweep parks a job does not delay that job", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    meanwhile(world, isAt("paused#orders", "insert"), () => resume(world.ctx, "orders", undefined));
    await world.file({ delay: 0 });
    expect(parked(world)).toEqual([]);
    expect(await consume(world, "orders")).toHaveLength(1);
  });

  test("is forgotten when the queue is polled again and no process can still use it", async () => {
    const asked: [string, boolean][] = [];
    const world = createWorld();
    const eventSources = { enable: async (topic: string, on: boolean) => void asked.push([topic, on]) };
    Object.assign(world.ctx, { eventSources });
    await pauseTopic(world.ctx, "orders");
    await world.pass(30 * MINUTE);
    expect(new Set(asked.map(String))).toEqual(new Set(["orders,false"]));
    expect(asked.length).toBeLessThan(15);
    asked.length = 0;
    await resume(world.ctx, "orders", undefined);
    expect(asked[0]).toEqual(["orders", true]);
    await world.pass(9 * MINUTE);
    expect(pauseItem(world)).toMatchObject({ state: "resuming" });
    expect(pauseItem(world)?.expiresAt).toBeUndefined();
    expect(asked.length).toBeGreaterThan(8);
    await world.pass(3 * MINUTE);
    expect(pauseItem(world)?.expiresAt).toBeDefined();
    expect((await reportTopics(world.ctx, ["orders"]))[0]?.pause).toBeUndefined();
    await pauseTopic(world.ctx, "orders");
    expect(pauseItem(world)).toMatchObject({ state: "paused" });
    expect(pauseItem(world)?.expiresAt).toBeUndefined();
  });

  test("does not fail when Lambda does: ticks try again", async () => {
    const world = createWorld();
    let failing = true;
    let enabled = true;
    const enable = async (_: string, on: boolean): Promise<void> => {
      if (failing) throw new Error("down");
      enabled = on;
    };
    Object.assign(world.ctx, { eventSources: { enable } });
    await pauseTopic(world.ctx, "orders");
    expect(enabled).toBe(true);
    failing = false;
    await world.pass(MINUTE);
    expect(enabled).toBe(false);
  });

  test("has its queue polled again during a long resume, even if Lambda refused at first and no tick came", async () => {
    const world = createWorld();
    let failing = false;
    let enabled = true;
    const enable = async (_: string, on: boolean): Promise<void> => {
      if (failing) throw new Error("down");
      enabled = on;
    };
    Object.assign(world.ctx, { eventSources: { enable } });
    await pauseTopic(world.ctx, "orders");
    for (let i = 0; i < 3; i++) await world.file({ delay: 0 });
    failing = true;
    await resume(world.ctx, "orders", 0.0001);
    failing = false;
    await world.pass(11 * MINUTE, { ticks: false });
    expect(enabled).toBe(false);
    await world.pass(11 * MINUTE);
    expect(parked(world).length).toBeGreaterThan(0);
    expect(enabled).toBe(true);
  });

  test("is in the topic's report, with its beginning and the number of jobs that it holds", async () => {
    const world = createWorld();
    const { since } = await pauseTopic(world.ctx, "orders");
    for (let i = 0; i < 3; i++) await world.file({ delay: 0 });
    const [report] = await reportTopics(world.ctx, ["orders"]);
    expect(report?.pause).toEqual({ state: "paused", since, parked: 3 });
  });
});

test.each([0.01, undefined])(
  "a resume at a rate of %s continues after a deployment removes its topic: the jobs are sent to its queue",
  async (rate) => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    for (let i = 0; i < 3; i++) await world.file({ delay: i * SECOND });
    await world.pass(HOUR);
    await resumeTopic(world.ctx, "orders", rate);
    const { orders: _, ...topics } = world.ctx.policy.topics;
    const deployed = { ...world.ctx, policy: { ...world.ctx.policy, topics } };
    for (let minute = 0; minute < 30; minute++) {
      await world.pass(MINUTE, { ticks: false });
      await tick(deployed, world.now() + MINUTE);
    }
    expect(parked(world)).toEqual([]);
    expect(new Set(world.visible("orders").map(({ id }) => id)).size).toBe(3);
    expect(pauseItem(world)).toHaveProperty("expiresAt");
  },
);

test("a tick lists a pause that an earlier version has begun", async () => {
  const world = createWorld();
  await pauseTopic(world.ctx, "orders");
  const { pk, sk } = pausedTopicKey("orders");
  await world.pool.remove([{ pk, sk }], world.now() + MINUTE);
  await world.tick();
  expect(world.pool.items()).toContainEqual(expect.objectContaining({ pk, sk }));
});

test.each([0, 5000])(
  "a repeated pause is not undone by an earlier resume that is still on its way, with clocks %i ms apart",
  async (skew) => {
    const world = createWorld();
    const since = world.now() + skew;
    await pauseTopic(world.skewed(skew), "orders");
    await world.pass(SECOND);
    let land = async (): Promise<unknown> => undefined;
    const change: Context["pool"]["change"] = async (wanted, by) => {
      land = () => world.pool.change(wanted, by + MINUTE);
      throw new Error("no answer");
    };
    const slow = { ...world.ctx, pool: { ...world.pool, change } };
    await expect(resume(slow, "orders", undefined)).rejects.toThrow("no answer");
    await world.pass(SECOND);
    await pauseTopic(world.ctx, "orders");
    await land();
    expect(pauseItem(world)).toMatchObject({ state: "paused", since });
  },
);

test("a resume that dies after moving jobs leaves notes that move none twice", async () => {
  const world = createWorld();
  await pauseTopic(world.ctx, "orders");
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await world.file({ delay: 0 })).id);
  const mend = breakAll(world, "before", isAt("paused#", "remove"));
  await expect(resume(world.ctx, "orders", 0.05)).rejects.toThrow("could not be released");
  mend();
  expect(parked(world)).toHaveLength(3);
  const runs = await runFor(world, MINUTE);
  expect(parked(world)).toEqual([]);
  for (const id of ids) expect((await world.home(id)).revision).toBe(1);
  expect([...runs, ...(await runFor(world, 10 * MINUTE))]).toHaveLength(3);
});

test("the count of parked jobs counts each job once, not each call that changed it", async () => {
  const world = createWorld();
  await pauseTopic(world.ctx, "orders");
  for (let i = 0; i < 30; i++) {
    await world.file({ key: "k", onDuplicate: "postpone", maxDelay: 10 * SECOND, delay: 0 });
    await world.pass(SECOND);
  }
  expect(parked(world).length).toBeGreaterThan(10);
  const [report] = await reportTopics(world.ctx, ["orders"]);
  expect(report?.pause?.parked).toBe(1);
});

test("a job that was parked, moved and parked again is sent when it is resumed", async () => {
  const world = createWorld();
  await pauseTopic(world.ctx, "orders");
  const { id } = await world.file({ delay: 0 });
  await reschedule(world.ctx, id, { body: "1" });
  expect(parked(world)).toHaveLength(2);
  await resume(world.ctx, "orders", undefined);
  expect(world.visible("orders")).toMatchObject([{ id, revision: 2 }]);
});

test("jobs that are parked ahead of a due time after the resume start then, whatever the resume's rate", async () => {
  const world = createWorld();
  await pauseTopic(world.ctx, "orders");
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await world.file({ delay: 2 * MINUTE })).id);
  await resume(world.ctx, "orders", 0.1);
  await world.pass(2 * MINUTE);
  const starts = await Promise.all(ids.map(async (id) => (await world.home(id)).heldUntil));
  expect(starts).toEqual(ids.map(() => START + 2 * MINUTE));
});

test("a job that is parked for a resume's rate just when the resume ends is released", async () => {
  const world = createWorld();
  await world.tick();
  await pauseTopic(world.ctx, "work");
  await world.file({ topic: "work", delay: 10 * MINUTE });
  await world.pass(11 * MINUTE, { ticks: false });
  await resume(world.ctx, "work", 1);
  await world.pass(11 * MINUTE, { ticks: false });
  meanwhile(world, isAt("pause#work", "change"), () => sweepShards(world));
  await carryOutPauses(world.ctx, world.now() + MINUTE);
  expect(parked(world, "work")).toHaveLength(1);
  await world.pass(MINUTE);
  expect(parked(world, "work")).toEqual([]);
  expect(world.visible("work")).toHaveLength(1);
  await world.pass(15 * MINUTE);
  expect(pauseItem(world, "work")?.expiresAt).toBeDefined();
});

test("a resume does not end before Lambda accepts the request to poll, however long that takes", async () => {
  const world = createWorld();
  let asked: boolean | undefined;
  const enable = async (_: string, on: boolean): Promise<void> => {
    if (on && world.now() < START + HOUR) throw new Error("down");
    asked = on;
  };
  Object.assign(world.ctx, { eventSources: { enable } });
  await pauseTopic(world.ctx, "orders");
  await resume(world.ctx, "orders", undefined);
  await world.pass(HOUR);
  expect(asked).toBe(true);
});

test("a second resume at the same rate continues after the starts that the first has given", async () => {
  const world = createWorld();
  const file = (count: number) => Promise.all(Array.from({ length: count }, () => world.file({ delay: 0 })));
  await pauseTopic(world.ctx, "orders");
  await file(50);
  await resume(world.ctx, "orders", 5);
  await pauseTopic(world.ctx, "orders");
  await file(50);
  await resume(world.ctx, "orders", 5);
  const starts = liveHomes(world).map(({ heldUntil = 0 }) => Math.floor(heldUntil / SECOND));
  expect(starts).toHaveLength(100);
  expect(Math.max(...[...Map.groupBy(starts, (second) => second).values()].map((at) => at.length))).toBe(5);
});

test("a held job's new body keeps its time and its start", async () => {
  const world = createWorld();
  await pauseTopic(world.ctx, "orders");
  const [first, second] = [await world.file({ delay: 0 }), await world.file({ delay: SECOND })];
  await world.pass(MINUTE);
  await resume(world.ctx, "orders", 1 / 60);
  const { heldUntil } = await world.home(second.id);
  expect(heldUntil).toBe(world.now() + MINUTE);
  await reschedule(world.ctx, second.id, { body: '"new"' });
  const changed = { dueAt: second.dueAt, heldUntil, body: '"new"', revision: 2 };
  expect(await world.home(second.id)).toMatchObject(changed);
  expect(await consume(world, "orders")).toMatchObject([{ id: first.id }]);
  expect(await runFor(world, 10 * MINUTE)).toMatchObject([{ id: second.id, revision: 2 }]);
});

test("ticks release the jobs for which a caller's resume has no time", async () => {
  const world = createWorld();
  await pauseTopic(world.ctx, "orders");
  for (let i = 0; i < 250; i++) await world.file({ delay: 0 });
  let pages = 0;
  world.pool.hooks.before = async ({ operation, keys }) => {
    if (operation === "changeMany" && keys.length > 0 && ++pages === 50)
      await world.pass(6 * SECOND, { ticks: false });
  };
  const { released, left } = await resume(world.ctx, "orders", undefined);
  delete world.pool.hooks.before;
  expect(released + left).toBe(250);
  expect(left).toBeGreaterThan(0);
  await world.pass(MINUTE);
  expect(parked(world)).toEqual([]);
});

test("a limit applies to jobs that were in the queue during a pause, when the topic is resumed without a rate", async () => {
  const world = createWorld({ topics: { slow: { consumer: "pull", maxPerSecond: 1 } } });
  for (let i = 0; i < 200; i++) await world.file({ topic: "slow", delay: 5 * MINUTE + i * SECOND });
  await world.pass(5 * MINUTE - 5 * SECOND);
  await pauseTopic(world.ctx, "slow");
  await world.pass(5 * MINUTE);
  await resume(world.ctx, "slow", undefined);
  const isWaiting = (): boolean =>
    world.queues.messages({ topic: "slow" }).some(({ visibleAt }) => visibleAt <= world.now());
  const starts: number[] = [];
  for (let second = 0; second < 10 * 60; second++) {
    while (isWaiting())
      starts.push(...(await consume(world, "slow")).map(({ at }) => Math.floor(at / SECOND)));
    await world.pass(SECOND);
  }
  expect(starts).toHaveLength(200);
  const most = Math.max(...[...Map.groupBy(starts, (at) => at).values()].map(({ length }) => length));
  expect(most).toBe(1);
});

test("a window applies to jobs that were in the queue during a pause", async () => {
  const world = createWorld({ topics: { shop: { consumer: "pull", window: "09:00-09:05 UTC" } } });
  for (let i = 0; i < 3; i++) await world.file({ topic: "shop", delay: 4 * MINUTE });
  await world.pass(4 * MINUTE - 5 * SECOND);
  await pauseTopic(world.ctx, "shop");
  await world.pass(3 * MINUTE);
  await resume(world.ctx, "shop", undefined);
  expect(await runFor(world, 5 * MINUTE, "shop")).toEqual([]);
  await world.pass(DAY - 12 * MINUTE);
  const runs = await runFor(world, 5 * MINUTE, "shop");
  expect(runs.map(({ at }) => new Date(at).toISOString().slice(11, 16))).toEqual(Array(3).fill("09:00"));
});

test("a parked job of a topic with a limit is sent by the third process that releases it, after two have died before they sent it", async () => {
  const world = createWorld({ topics: { events: { maxPerSecond: 1 } } });
  const process = (): Context => ({ ...world.ctx, pool: Object.create(world.pool) as Context["pool"] });
  await pauseTopic(world.ctx, "events");
  await world.file({ topic: "events", delay: MINUTE });
  await world.pass(2 * MINUTE);
  for (const act of [
    () => resume(process(), "events", undefined),
    () => tick(process(), world.now() + MINUTE),
  ]) {
    const dead = Promise.withResolvers<void>();
    world.queues.hooks.before = ({ operation }) =>
      operation === "send" ? new Promise(() => dead.resolve()) : undefined;
    void act();
    await dead.promise;
    delete world.queues.hooks.before;
    await world.pass(61 * SECOND, { ticks: false });
  }
  await tick(world.ctx, world.now() + MINUTE);
  expect(await runOneByOne(world, MINUTE)).toHaveLength(1);
});

describe("a paused pull topic", () => {
  test("hands nothing out, and a receive waits for the end of the pause as long as it was asked to", async () => {
    const world = createWorld();
    await world.file({ topic: "work", delay: 0 });
    await pauseTopic(world.ctx, "work");
    const asked = world.now();
    expect(await receive(world.ctx, "work", { max: 10, waitSeconds: 12 }, world.timers)).toEqual([]);
    expect(world.now()).toBe(asked + 12 * SECOND);
    await resume(world.ctx, "work", undefined);
    expect(await receive(world.ctx, "work", { max: 10, waitSeconds: 0 }, world.timers)).toHaveLength(1);
  });
});
