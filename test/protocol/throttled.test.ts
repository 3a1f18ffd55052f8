import { describe, expect, test } from "vitest";
import { createSettler } from "../../src/consumer/settler.ts";
import { MinutehandError } from "../../src/core/errors.ts";
import type { Key } from "../../src/core/items.ts";
import { parseMessage } from "../../src/core/message.ts";
import { enqueueMany } from "../../src/protocol/file/enqueue.ts";
import { topicNow, topicsNow } from "../../src/protocol/gate/known-pauses.ts";
import { tick } from "../../src/protocol/hand-over/tick.ts";
import type { Change, Context, Pool, Queues } from "../../src/protocol/ports.ts";
import { receive } from "../../src/protocol/run/pull.ts";
import { settlePulled } from "../../src/protocol/run/settle-pulled.ts";
import { consume } from "../support/consume.ts";
import { fail, pull, pullOne } from "../support/scenes.ts";
import { undecidedPool, whileTimePasses } from "../support/undecided.ts";
import { createWorld, MINUTE, SECOND, START, type World } from "../support/world.ts";

/** DynamoDB throttles every change of this job for `ms`. The outcomes of other changes are reported at once. */
function throttle(world: World, id: string, ms: number): void {
  const original = world.pool.changeMany;
  const until = world.now() + ms;
  const isIts = ({ key }: Change) => key.sk.endsWith(id);
  world.pool.changeMany = async (changes, by, onChanged) => {
    const others = changes.filter((change) => !isIts(change));
    const decided = await original.call(world.pool, others, by);
    for (const [i, change] of changes.entries())
      if (decided[others.indexOf(change)] === "changed") onChanged?.(i);
    const last = Math.min(until, by);
    if (others.length < changes.length && world.now() < last)
      await world.pass(last - world.now(), { ticks: false });
    return Promise.all(
      changes.map(async (change) => {
        if (!isIts(change)) return decided[others.indexOf(change)] ?? new Error("no answer");
        const [result] = await original.call(world.pool, [change], by).catch(() => []);
        return result ?? new Error("throttled");
      }),
    );
  };
}

/** A pool that repeats writes of one bucket until their deadlines, because DynamoDB throttles all of them. */
function throttledWrites(world: World, bucket: string): Pool {
  const until = async (by: number): Promise<never> => {
    await world.pass(Math.max(by - world.now(), 0), { ticks: false });
    throw new MinutehandError("unavailable", `writes of ${bucket} are throttled`);
  };
  const change: Pool["change"] = (asked, by) =>
    asked.key.pk === bucket ? until(by) : world.pool.change(asked, by);
  const transact: Pool["transact"] = (asked, by) => world.pool.transact(asked, by);
  return Object.assign(Object.create(world.pool), { change, transact });
}

/** A process whose writes of one bucket get no outcome, while writes of other buckets in the same call succeed. */
function throttledBucket(world: World, bucket: string): Context {
  return { ...world.ctx, pool: undecidedPool(world, (pk) => pk === bucket) };
}

describe("a batch whose jobs lie in several buckets, of which DynamoDB throttles one,", () => {
  /** 200 jobs, a quarter of them due a minute later than the others: in the bucket that is throttled. */
  async function fileBatch(more: (i: number) => object) {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const jobs = Array.from({ length: 200 }, (_, i) => ({
      topic: "orders",
      body: "{}",
      dueAt: START + 5 * SECOND + (i % 4 === 0 ? MINUTE : 0),
      ...more(i),
    }));
    const ctx = throttledBucket(world, "2026-03-01T09:01#0");
    const outcomes = await whileTimePasses(world, enqueueMany(ctx, jobs));
    const sent = world.queues
      .messages({ topic: "orders" })
      .flatMap(({ body }) => parseMessage(body)?.jobs ?? []);
    return { outcomes, sent };
  }

  test.each<[string, (i: number) => object]>([
    ["plain", () => ({})],
    ["keyed", (i) => ({ key: `key ${i}` })],
    ["with an Idempotency-Key each", (i) => ({ once: { token: `token-${i}`, hash: "h", lasts: MINUTE } })],
  ])("files and sends the others within two seconds, and refuses its own (%s)", async (_, more) => {
    const { outcomes, sent } = await fileBatch(more);
    expect(outcomes.filter((one) => one instanceof Error)).toHaveLength(50);
    expect(outcomes.filter((one, i) => one instanceof Error && i % 4 === 0)).toHaveLength(50);
    expect(sent).toHaveLength(150);
    for (const { sentAt = "" } of sent) expect(Date.parse(sentAt)).toBeLessThanOrEqual(START + 2.5 * SECOND);
  });
});

test("starts of a limit are used while a partition of the topic's notes is throttled", async () => {
  const world = createWorld({ shards: 2, topics: { t: { maxPerSecond: 1 } } });
  await world.tick();
  const jobs = Array.from({ length: 200 }, () => ({ topic: "t", body: "{}", dueAt: START + 10 * SECOND }));
  const ctx = throttledBucket(world, "paused#t#0");
  const outcomes = await whileTimePasses(world, enqueueMany(ctx, jobs));
  // All jobs are filed: those without a note have a look.
  expect(outcomes.filter((one) => one instanceof Error)).toEqual([]);
  const sent = world.queues.messages({ topic: "t" }).flatMap(({ body }) => parseMessage(body)?.jobs ?? []);
  expect(sent.length).toBeGreaterThan(50);
  for (const { sentAt = "" } of sent) expect(Date.parse(sentAt)).toBeLessThanOrEqual(START + 2.5 * SECOND);
});

describe("while DynamoDB throttles one job of a batch,", () => {
  test("the other jobs start at once, and the throttled one runs later from its message, without losing an attempt", async () => {
    const world = createWorld();
    const quick = await world.file({ maxAttempts: 1 });
    const slow = await world.file({ maxAttempts: 1 });
    throttle(world, slow.id, 10 * SECOND);
    expect(await consume(world, "orders")).toMatchObject([{ id: quick.id, at: START }]);
    expect(world.now()).toBeLessThanOrEqual(START + 3 * SECOND);
    expect(await world.home(slow.id)).toMatchObject({ state: "scheduled", attempt: 0 });
    await world.pass(30 * SECOND, { ticks: false });
    expect(await consume(world, "orders")).toMatchObject([{ id: slow.id, attempt: 1 }]);
    expect(await world.home(quick.id)).toMatchObject({ state: "done" });
  });

  test("other pulled jobs are handed out with most of their leases left", async () => {
    const world = createWorld();
    const quick = await world.file({ topic: "work", maxAttempts: 1 });
    const slow = await world.file({ topic: "work", maxAttempts: 1 });
    throttle(world, slow.id, 60 * SECOND);
    expect((await pull(world)).map(({ id }) => id)).toEqual([quick.id]);
    expect(world.now()).toBeLessThanOrEqual(START + 3 * SECOND);
  });

  test.each(["orders", "work"])(
    "a dead letter of its bucket that SQS has redriven delays no job of %s",
    async (topic) => {
      const world = createWorld({
        topics: { orders: { maxAttempts: 1 }, work: { maxAttempts: 1, consumer: "pull" } },
      });
      await world.tick();
      const first = await world.file({ topic, body: '"first"' });
      const bury = async (): Promise<void> => {
        if (topic === "orders") return void (await consume(world, topic, { run: fail }));
        await settlePulled(world.ctx, topic, (await pullOne(world)).receipt, { end: "failed", error: "no" });
      };
      await bury();
      expect(await world.home(first.id)).toMatchObject({ state: "dead" });
      await world.pass(5 * MINUTE);
      const ctx = { ...world.ctx, pool: throttledWrites(world, first.pk) };
      world.queues.redriveNatively(topic);
      const mate = await world.file({ topic });
      const begun = world.now();
      if (topic === "orders") expect(await consume(world, topic, { ctx })).toMatchObject([{ id: mate.id }]);
      else {
        const pulled = await receive(ctx, topic, { max: 10, waitSeconds: 0 }, world.timers);
        expect(pulled.map(({ id }) => id)).toEqual([mate.id]);
      }
      expect(world.now() - begun).toBeLessThanOrEqual(2 * SECOND);
      // The letter is still in the queue.
      await world.pass(2 * MINUTE);
      await consume(world, topic);
      expect(await world.home(first.id)).toMatchObject({ state: "scheduled", revision: 1 });
    },
  );

  test("the ends of other runs are recorded before their leases end", async () => {
    const world = createWorld();
    const slow = await world.file({});
    const quick = await world.file({});
    const ended: { id: string; token: string }[] = [];
    const original = world.pool.changeMany;
    world.pool.changeMany = (changes, by) => {
      for (const { key, set } of changes)
        ended.push({ id: key.sk.split("#")[1] ?? "", token: String(set.token) });
      return original.call(world.pool, changes, by);
    };
    const handlers = Promise.withResolvers<void>();
    const running = consume(world, "orders", {
      run: () => handlers.promise.then(() => ({ end: "done" }) as const),
    });
    while (ended.length < 2) await new Promise(setImmediate);
    world.pool.changeMany = original;
    throttle(world, slow.id, 20 * SECOND);
    const settler = createSettler(world.ctx, START + 30 * SECOND, (ms) => world.pass(ms, { ticks: false }));
    for (const { id } of [slow, quick]) {
      const held = {
        id,
        topic: "orders",
        attempt: 1,
        token: ended.find((one) => one.id === id)?.token ?? "",
      };
      settler.settle(
        () => settler.record(held, { end: "done" }),
        () => {},
      );
      // After that, the call of the first job is in flight.
      for (let i = 0; i < 3; i++) await null;
    }
    await settler.idle();
    const [first, second] = [await world.home(slow.id), await world.home(quick.id)];
    expect([first.state, second.state]).toEqual(["done", "done"]);
    expect(second.finishedAt).toBeLessThanOrEqual(START + 5 * SECOND);
    handlers.resolve();
    await running;
  });

  test("a claim that is confirmed too late for a run is given back, and counts as no attempt", async () => {
    const world = createWorld();
    const { id } = await world.file({ maxAttempts: 1 });
    world.pool.hooks.after = async ({ operation }) => {
      if (operation === "changeMany") await world.pass(29 * SECOND, { ticks: false });
    };
    expect(await consume(world, "orders")).toEqual([]);
    delete world.pool.hooks.after;
    expect(await world.home(id)).toMatchObject({ state: "scheduled", attempt: 0 });
    expect(await consume(world, "orders")).toMatchObject([{ id, attempt: 1 }]);
  });
});

/** Calls for this partition fail after `ms`, by the caller's clock, when their client gives up. */
function silence(
  world: World,
  isIts: (key: Key) => boolean,
  ms: number,
): { ctx: Context; calls: () => number } {
  let lost = 0;
  let calls = 0;
  const fail = () => {
    lost += ms;
    calls += 1;
    return Promise.reject(new Error("DynamoDB did not answer"));
  };
  const count: Pool["count"] = (key, ...rest) => (isIts(key) ? fail() : world.pool.count(key, ...rest));
  const page: Pool["page"] = (pk, ...rest) => (isIts({ pk, sk: "" }) ? fail() : world.pool.page(pk, ...rest));
  const pool: Pool = Object.assign(Object.create(world.pool), { count, page });
  return { ctx: { ...world.ctx, clock: () => world.now() + lost, pool }, calls: () => calls };
}

describe("while a limit's counters do not answer,", () => {
  test("they are called once in a tick, and other topics' jobs are sent", async () => {
    const world = createWorld({ shards: 1, topics: { slow: { maxPerSecond: 5 }, well: {} } });
    await world.tick();
    const dueAt = world.now() + 10 * MINUTE;
    const jobs = Array.from({ length: 40 }, (_, i) => ({
      topic: "slow",
      body: "{}",
      dueAt: dueAt + i * SECOND,
    }));
    await enqueueMany(world.ctx, [...jobs, { topic: "well", body: "{}", dueAt: dueAt + 50 * SECOND }]);
    await world.pass(9 * MINUTE, { ticks: false });
    const { ctx, calls } = silence(world, ({ pk }) => pk.startsWith("starts#slow"), 10 * SECOND);
    const small = { ...ctx, sizes: { ...ctx.sizes, page: 3 } };
    await tick(small, ctx.clock() + 150 * SECOND).catch(() => {});
    expect(calls()).toBeLessThanOrEqual(2);
    expect(world.queues.messages({ topic: "well" })).toHaveLength(1);
    await world.pass(3 * MINUTE);
    expect(world.queues.messages({ topic: "slow" }).length).toBeGreaterThan(0);
  });
});

describe("while the list of limited or of paused topics cannot be read,", () => {
  test.each(["limited", "paused"])("all jobs are sent, and limits still apply (%s)", async (partition) => {
    const world = createWorld({ shards: 1, topics: { slow: { maxPerSecond: 5 }, well: {} } });
    await world.tick();
    const due = { body: "{}", dueAt: world.now() };
    for (let i = 0; i < 2; i++)
      await enqueueMany(
        world.ctx,
        Array.from({ length: 500 }, () => ({ topic: "slow", ...due })),
      );
    await enqueueMany(world.ctx, [{ topic: "well", body: "{}", dueAt: world.now() + 10 * MINUTE }]);
    await world.pass(9 * MINUTE, { ticks: false });
    world.events.length = 0;
    const { ctx, calls } = silence(world, ({ pk }) => pk === partition, 15 * SECOND);
    await tick(ctx, ctx.clock() + 150 * SECOND).catch(() => {});
    expect(calls()).toBeLessThanOrEqual(2);
    expect(world.queues.messages({ topic: "well" })).toHaveLength(1);
    const released = world.events.map((event) => (event.type === "released" ? event.jobs : 0));
    expect(released.reduce((sum, jobs) => sum + jobs, 0)).toBeGreaterThan(100);
  });
});

describe("a receive that cannot read its topic's pause after it has waited for messages", () => {
  test("leaves them to the next receive, whatever the topic's ttr is", async () => {
    const world = createWorld({ topics: { work: { consumer: "pull", ttr: 12 * 3600 } } });
    await world.tick();
    expect(await pull(world)).toEqual([]);
    const { id } = await world.file({ topic: "work" });
    const queues: Queues = {
      ...world.queues,
      async receive(...asked) {
        await world.pass(6 * SECOND, { ticks: false });
        world.pool.hooks.before = ({ operation, keys }) => {
          if (operation === "read" && keys.some(({ pk }) => pk.startsWith("pause#")))
            throw new MinutehandError("unavailable", "DynamoDB did not answer a read");
        };
        return world.queues.receive(...asked);
      },
    };
    const asked = receive({ ...world.ctx, queues }, "work", { max: 1, waitSeconds: 20 }, world.timers);
    await expect(asked).rejects.toMatchObject({ code: "unavailable" });
    delete world.pool.hooks.before;
    await world.pass(20 * SECOND);
    expect((await pull(world)).map((job) => job.id)).toEqual([id]);
  });
});

describe("while one topic's pause cannot be read,", () => {
  const TOPICS = { sick: {}, well: {}, slow: { maxPerSecond: 5 } } as const;
  const isSick = ({ pk }: Key) => pk === "pause#sick";
  /** Reads of this pause fail after 15 s, by the caller's clock, when their client gives up. */
  function sicken(world: World): Context {
    let lost = 0;
    const read: Pool["read"] = async (keys) => {
      if (!keys.some(isSick)) return world.pool.read(keys);
      lost += 15 * SECOND;
      throw new Error("DynamoDB did not answer a read");
    };
    const pool: Pool = Object.assign(Object.create(world.pool), { read });
    return { ...world.ctx, clock: () => world.now() + lost, pool };
  }

  test("the tick sends other topics' jobs, and those of this topic when the pause can be read again", async () => {
    const world = createWorld({ shards: 1, topics: TOPICS });
    await world.tick();
    const jobs = ["sick", "well", "slow"].map((topic) => ({
      topic,
      body: "{}",
      dueAt: world.now() + 10 * MINUTE,
    }));
    await enqueueMany(world.ctx, jobs);
    await world.pass(8 * MINUTE, { ticks: false });
    await tick(sicken(world), world.now() + 150 * SECOND).catch(() => {});
    for (const topic of ["well", "slow"]) expect(world.queues.messages({ topic })).toHaveLength(1);
    expect(world.queues.messages({ topic: "sick" })).toEqual([]);
    await world.pass(10 * MINUTE);
    expect(world.visible("sick")).toHaveLength(1);
  });

  test("the tick gives starts to jobs that wait for other topics' limits", async () => {
    const world = createWorld({ shards: 1, topics: TOPICS });
    await world.tick();
    const jobs = Array.from({ length: 500 }, () => ({ topic: "slow", body: "{}", dueAt: world.now() }));
    for (let i = 0; i < 2; i++) await enqueueMany(world.ctx, jobs);
    await world.pass(MINUTE, { ticks: false });
    world.events.length = 0;
    await tick(sicken(world), world.now() + 150 * SECOND).catch(() => {});
    const released = world.events.reduce(
      (sum, event) => sum + (event.type === "released" ? event.jobs : 0),
      0,
    );
    expect(released).toBeGreaterThan(100);
  });

  test("a call that reads only another topic's pause at the same time gets it", async () => {
    const world = createWorld({ topics: { orders: {}, other: {} } });
    const { read } = world.pool;
    const answers = Promise.withResolvers<void>();
    world.pool.read = async (keys) => {
      await answers.promise;
      if (keys.some(({ pk }) => pk === "pause#orders")) throw new Error("throttled");
      return read.call(world.pool, keys);
    };
    const both = topicsNow(world.ctx, ["orders", "other"]);
    const other = topicNow(world.ctx, "other");
    answers.resolve();
    expect(await both).toMatchObject({
      known: new Map([["other", { topic: "other" }]]),
      unknown: new Map([["orders", { message: "throttled" }]]),
    });
    expect(await other).toMatchObject({ topic: "other" });
  });

  test("its slow reads are not repeated at once", async () => {
    const world = createWorld({ shards: 1, topics: TOPICS });
    const ctx = sicken(world);
    const unknown = async () => [...(await topicsNow(ctx, ["sick", "well"])).unknown.keys()];
    expect(await unknown()).toEqual(["sick"]);
    const after = ctx.clock();
    expect(await unknown()).toEqual(["sick"]);
    expect(ctx.clock()).toBe(after);
  });

  test("neither are they if no other pause is read with it", async () => {
    const ctx = sicken(createWorld({ shards: 1, topics: TOPICS }));
    const unknown = async () => [...(await topicsNow(ctx, ["sick"])).unknown.keys()];
    expect(await unknown()).toEqual(["sick"]);
    const after = ctx.clock();
    expect(await unknown()).toEqual(["sick"]);
    expect(ctx.clock()).toBe(after);
  });

  test("a function's messages are visible again within seconds, whatever its timeout is", async () => {
    const world = createWorld();
    const { id } = await world.file({});
    world.pool.hooks.before = ({ operation, keys }) => {
      if (operation === "read" && keys.some(({ pk }) => pk.startsWith("pause#")))
        throw new MinutehandError("unavailable", "DynamoDB did not answer a read");
    };
    await world.pass(6 * SECOND, { ticks: false });
    expect(await consume(world, "orders", { timeout: 900 * SECOND })).toEqual([]);
    delete world.pool.hooks.before;
    await world.pass(30 * SECOND, { ticks: false });
    expect((await consume(world, "orders")).map((run) => run.id)).toEqual([id]);
  });
});
