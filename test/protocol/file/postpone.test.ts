import { describe, expect, it, test } from "vitest";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueue } from "../../../src/protocol/file/enqueue.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { listJobs } from "../../../src/protocol/read/list.ts";
import { settlePulled } from "../../../src/protocol/run/settle-pulled.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import { fail, isLook, key, meanwhile, pullOne } from "../../support/scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const BOUND = START + HOUR;
const postpone = (world: World, more: object = {}) =>
  world.fileAll({ key, onDuplicate: "postpone", delay: 10 * MINUTE, maxDelay: HOUR, ...more });
const pass = (world: World, ms: number) => world.pass(ms, { ticks: false });

describe("a job that is postponed", () => {
  it("is found by lists and bulks at its due time, however late it is postponed again", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    const asked = { delay: 5 * SECOND, maxDelay: MINUTE };
    const { home } = await postpone(world, asked);
    await world.pass(80 * SECOND);
    for (let i = 0; i < 3; i++) {
      const { dueAt } = (await postpone(world, asked)).home;
      expect(dueAt).toBe(home.postponeUntil);
      const range = { from: dueAt, to: dueAt + 1, limit: 10 };
      const { homes } = await listJobs(world.ctx, { topic: "orders", ...range });
      expect(homes.map(({ id }) => id)).toEqual([home.id]);
      await world.pass(5 * MINUTE);
    }
  });

  it("is filed at first, with the bound of its first enqueue", async () => {
    const world = createWorld();
    const { outcome, home } = await postpone(world);
    expect(outcome).toBe("created");
    expect(home).toMatchObject({ dueAt: START + 10 * MINUTE, postponeUntil: BOUND, revision: 0 });
    expect(await world.home(home.id)).toEqual(home);
  });

  it("is due by its bound even if it was filed for later", async () => {
    const world = createWorld();
    expect((await postpone(world, { delay: 2 * HOUR })).home).toMatchObject({
      dueAt: BOUND,
      wantedAt: BOUND,
    });
  });

  it("gets the newest body and options and all attempts with each call, until no call comes for its delay", async () => {
    const world = createWorld();
    const first = (await postpone(world, { tag: "old", maxAttempts: 2 })).home;
    await pass(world, 5 * MINUTE);
    const { outcome, home } = await postpone(world, { body: '"new"', group: "g" });
    expect(outcome).toBe("postponed");
    expect(home).toMatchObject({
      id: first.id,
      body: '"new"',
      group: "g",
      dueAt: START + 15 * MINUTE,
      wantedAt: START + 15 * MINUTE,
      revision: 1,
      postponeUntil: BOUND,
    });
    expect(home).not.toHaveProperty("tag");
    expect(home).not.toHaveProperty("maxAttempts");
    await world.pass(10 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id: home.id, revision: 1, at: home.dueAt }]);
  });

  it("is postponed at most to its first bound, whatever later calls allow, and runs then, once", async () => {
    const world = createWorld();
    await postpone(world);
    for (let i = 1; i < 12; i++) {
      await pass(world, 5 * MINUTE);
      const { home } = await postpone(world, { maxDelay: 24 * HOUR });
      expect(home).toMatchObject({ dueAt: Math.min(world.now() + 10 * MINUTE, BOUND), postponeUntil: BOUND });
    }
    await world.pass(5 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ at: BOUND, attempt: 1 }]);
    expect((await postpone(world)).outcome).toBe("created");
  });

  it("comes earlier when it is asked to", async () => {
    const world = createWorld();
    await postpone(world, { delay: 30 * MINUTE });
    expect((await postpone(world, { delay: MINUTE })).home).toMatchObject({ dueAt: START + MINUTE });
  });

  it("runs now when its bound is over, with all attempts again", async () => {
    const world = createWorld();
    await postpone(world, { delay: 0, maxDelay: MINUTE });
    for (const wait of [15, 60]) {
      await consume(world, "orders", { run: fail });
      await pass(world, wait * SECOND);
    }
    const { home } = await postpone(world, { maxDelay: HOUR });
    expect(home).toMatchObject({
      dueAt: world.now(),
      attempt: 0,
      postponeUntil: START + MINUTE,
    });
    expect(await consume(world, "orders")).toMatchObject([{ attempt: 1 }]);
  });

  it("is refused while it runs", async () => {
    const world = createWorld();
    await postpone(world, { delay: 0 });
    await crashWhileRunning(world, "orders");
    await expect(postpone(world)).rejects.toMatchObject({ code: "job-running" });
  });

  it("has a bound that counts from its filing, if it was filed without one", async () => {
    const world = createWorld();
    await world.file({ key, delay: 10 * MINUTE });
    await pass(world, 5 * MINUTE);
    expect((await postpone(world, { delay: 2 * HOUR })).home).toMatchObject({
      dueAt: BOUND,
      postponeUntil: BOUND,
    });
  });

  it("has a bound that counts from its last replacement, because that ended its earlier bound", async () => {
    const world = createWorld();
    await postpone(world);
    await pass(world, MINUTE);
    await world.file({ key, delay: HOUR, onDuplicate: "replace" });
    await pass(world, 40 * MINUTE);
    expect((await postpone(world)).home).toMatchObject({
      dueAt: START + 51 * MINUTE,
      postponeUntil: START + MINUTE + (BOUND - START),
    });
  });

  it("has no bound any more when it is replaced, and keeps it when it is moved", async () => {
    const world = createWorld();
    const { home } = await postpone(world);
    expect(await reschedule(world.ctx, home.id, { dueAt: START + 2 * HOUR })).toMatchObject({
      dueAt: START + 2 * HOUR,
      postponeUntil: BOUND,
    });
    const replaced = await world.file({ key, delay: HOUR, onDuplicate: "replace" });
    expect(replaced).not.toHaveProperty("postponeUntil");
    expect(await world.home(home.id)).toEqual(replaced);
  });

  it("gets and loses its promoting schedule as it moves", async () => {
    const world = createWorld({ longDelay: 7200 });
    const far = { delay: 3 * HOUR, maxDelay: 24 * HOUR };
    const { home } = await postpone(world, { maxDelay: 24 * HOUR });
    expect(world.promotions.filed.size).toBe(0);
    await postpone(world, far);
    expect([...world.promotions.filed.keys()]).toEqual([home.id]);
    await postpone(world);
    expect(world.promotions.filed.size).toBe(0);
  });
});

describe("a call that postpones", () => {
  const once = { token: "t", hash: "h" };

  it("postpones nothing when it is repeated, and is answered with the job as it is now", async () => {
    const world = createWorld();
    const first = await postpone(world);
    await pass(world, 5 * MINUTE);
    await postpone(world, { once });
    await pass(world, 2 * MINUTE);
    expect(await postpone(world, { once })).toMatchObject({
      outcome: "replayed",
      home: { id: first.home.id, dueAt: START + 15 * MINUTE, revision: 1 },
    });
  });

  it("whose answer is lost is applied once", async () => {
    const world = createWorld();
    await postpone(world);
    breakOnce(world, "after", ({ operation }) => operation === "transact");
    expect(await postpone(world, { once, delay: 20 * MINUTE })).toMatchObject({
      outcome: "replayed",
      home: { revision: 1, dueAt: START + 20 * MINUTE },
    });
  });

  it("that dies after the look leaves the job where it was", async () => {
    const world = createWorld();
    const { home } = await postpone(world);
    breakOnce(world, "after", isLook);
    await expect(postpone(world, { delay: 20 * MINUTE })).rejects.toThrow("crash");
    await world.pass(10 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id: home.id, revision: 0 }]);
  });

  it("starts again from the job's new state if another call postpones it at the same time", async () => {
    const world = createWorld();
    await postpone(world);
    meanwhile(world, isLook, () => postpone(world, { body: '"theirs"', delay: 30 * MINUTE }));
    expect((await postpone(world, { body: '"ours"' })).home).toMatchObject({
      body: '"ours"',
      dueAt: START + 10 * MINUTE,
      revision: 2,
      postponeUntil: BOUND,
    });
  });
});

test("a call beyond the bound keeps the job's turn, and the job expires by the time of the call", async () => {
  const world = createWorld();
  const asked = { delay: 2 * SECOND, maxDelay: 5 * SECOND };
  await postpone(world, asked);
  await pass(world, 7 * SECOND);
  const { home } = await postpone(world, asked);
  expect(home).toMatchObject({ dueAt: START + 5 * SECOND, wantedAt: START + 7 * SECOND });
});

describe("a job that many calls postpone beyond its bound starts at its bound", () => {
  it("even if each of its messages is void when a consumer receives it, and with the newest body", async () => {
    const world = createWorld();
    const asked = { delay: 2 * SECOND, maxDelay: 5 * SECOND };
    await postpone(world, asked);
    const bodies: unknown[] = [];
    let calls = 0;
    for (let i = 0; i < 20 && bodies.length === 0; i++) {
      await pass(world, SECOND);
      // Another call comes between the delivery of the newest message and its claim.
      meanwhile(
        world,
        ({ operation }) => operation === "changeMany",
        () => postpone(world, { ...asked, body: `${++calls}` }),
      );
      await consume(world, "orders", {
        run: ({ body }) => {
          bodies.push(body);
          return { end: "done" };
        },
      });
    }
    expect(world.now()).toBe(START + 5 * SECOND);
    expect(bodies).toEqual([calls]);
  });

  it("when it is pulled, too, and the lease of its run stays valid", async () => {
    const world = createWorld();
    const asked = { topic: "work", delay: 0, maxDelay: SECOND };
    await postpone(world, asked);
    await pass(world, 2 * SECOND);
    meanwhile(
      world,
      ({ operation }) => operation === "changeMany",
      () => postpone(world, { ...asked, body: '"newest"' }),
    );
    const job = await pullOne(world);
    expect(job).toMatchObject({ body: "newest", attempt: 1 });
    await settlePulled(world.ctx, "work", job.receipt, { end: "done" });
    expect(await world.home(job.id)).toMatchObject({ state: "done", revision: 1 });
  });

  it.each([5, 10])("even if %i other jobs want five starts of its limit, too", async (others) => {
    const world = createWorld({ topics: { slow: { maxPerSecond: 1 } } });
    const runs: { id: string; at: number }[] = [];
    const { id } = (await postpone(world, { topic: "slow", delay: 10 * SECOND, maxDelay: MINUTE })).home;
    for (let i = 0; i < 40; i++) {
      await postpone(world, { topic: "slow", delay: 10 * SECOND, maxDelay: MINUTE });
      for (let j = 0; j < others; j++) await world.file({ topic: "slow" });
      await world.pass(5 * SECOND);
      while (world.visible("slow").length > 0) runs.push(...(await consume(world, "slow")));
    }
    expect(runs.find((run) => run.id === id)?.at).toBeLessThan(START + 3 * MINUTE);
  });

  it("with the start that its limit gave it at the first call beyond its bound", async () => {
    const world = createWorld({ topics: { slow: { maxPerSecond: 1 } } });
    const asked = { topic: "slow", delay: 0, maxDelay: SECOND };
    const { id } = (await postpone(world, asked)).home;
    await pass(world, 2 * SECOND);
    const starts: (number | undefined)[] = [];
    for (let i = 0; i < 5; i++) {
      await postpone(world, asked);
      starts.push((await world.home(id)).heldUntil);
      await pass(world, 100);
    }
    expect(starts).toEqual(starts.map(() => START + 2 * SECOND));
  });

  it("before the jobs that came after its bound, while it is parked for its limit", async () => {
    const world = createWorld({ shards: 1, topics: { slow: { maxPerSecond: 1 } } });
    for (let i = 0; i < 200; i++) await world.file({ topic: "slow" });
    // A tick records that jobs wait. From then on no caller takes a start before them.
    await world.pass(MINUTE);
    const asked = { topic: "slow", delay: 0, maxDelay: SECOND };
    const { id } = (await postpone(world, asked)).home;
    await pass(world, 2 * SECOND);
    for (let i = 0; i < 100; i++) await world.file({ topic: "slow" });
    await pass(world, SECOND);
    expect((await postpone(world, asked)).home.id).toBe(id);
    const order: string[] = [];
    for (let i = 0; i < 320; i++) {
      await world.pass(SECOND);
      while (world.visible("slow").length > 0)
        order.push(...(await consume(world, "slow")).map((run) => run.id));
    }
    expect(order.length).toBe(301);
    expect(order.indexOf(id)).toBe(200);
  });

  it("in its turn when its topic is resumed", async () => {
    const world = createWorld();
    const first = await postpone(world, { delay: 0, maxDelay: SECOND });
    await pauseTopic(world.ctx, "orders");
    await pass(world, MINUTE);
    await world.file({});
    const { home } = await postpone(world, { delay: 0 });
    expect(home).toMatchObject({ id: first.home.id, dueAt: first.home.postponeUntil, revision: 1 });
    await resume(world.ctx, "orders", 1);
    await world.pass(10 * SECOND);
    expect((await consume(world, "orders")).map(({ id }) => id)[0]).toBe(home.id);
  });

  it("by its bound, though its caller's clock is ahead by more than the time between calls", async () => {
    const plain = createWorld();
    const caller = plain.skewed(1500);
    const call = () =>
      enqueue(caller, {
        ...{ topic: "orders", key, body: "{}", onDuplicate: "postpone", maxDelay: MINUTE },
        dueAt: caller.clock() + 10 * SECOND,
      });
    // Calls come each second, also while the consumer holds a message until the job is due.
    const world: World = {
      ...plain,
      async pass(ms) {
        for (const end = plain.now() + ms; plain.now() < end; ) {
          await pass(plain, Math.min(SECOND - (plain.now() % SECOND), end - plain.now()));
          if (plain.now() % SECOND === 0) await call();
        }
      },
    };
    await call();
    let started: number | undefined;
    while (started === undefined && plain.now() < START + 2 * MINUTE) {
      await world.pass(370);
      const [run] = await consume(world, "orders");
      started = run?.at;
    }
    expect(started).toBeGreaterThanOrEqual(START + MINUTE);
    expect(started).toBeLessThan(START + MINUTE + 5 * SECOND);
  });

  it("at the rate of a resume, even if all jobs are postponed once more after it", async () => {
    const world = createWorld();
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
    const callAll = async (): Promise<void> => {
      for (const one of keys) await postpone(world, { key: one, delay: 0, maxDelay: SECOND });
    };
    await pauseTopic(world.ctx, "orders");
    await callAll();
    await world.pass(MINUTE);
    await resume(world.ctx, "orders", 0.1);
    await pass(world, 2 * SECOND);
    await callAll();
    const starts: number[] = [];
    for (const end = world.now() + 5 * MINUTE; world.now() < end; await world.pass(SECOND))
      starts.push(...(await consume(world, "orders")).map(({ at }) => at));
    expect(starts.length).toBe(20);
    // The first job starts at once, and the others follow at the rate.
    const gaps = starts.slice(2).map((at, i) => at - (starts[i + 1] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(9 * SECOND);
  });

  it("but not while its window is closed", async () => {
    const world = createWorld({ topics: { orders: { window: "10:00-11:00 UTC" } } });
    await postpone(world, { delay: 0, maxDelay: SECOND });
    await pass(world, MINUTE);
    await postpone(world, { delay: 0 });
    expect(await consume(world, "orders")).toEqual([]);
  });

  it("and the time for which its limit held it does not count as lateness", async () => {
    const world = createWorld({
      topics: { slow: { maxPerSecond: 1, ifLate: { after: 120, do: "skip" } } },
    });
    for (let i = 0; i < 300; i++) await world.file({ topic: "slow" });
    const asked = { topic: "slow", delay: 0, maxDelay: SECOND };
    const { id } = (await postpone(world, asked)).home;
    await world.pass(200 * SECOND);
    await postpone(world, { ...asked, body: '"newest"' });
    const bodies: unknown[] = [];
    for (let i = 0; i < 300; i++) {
      await world.pass(SECOND);
      await consume(world, "slow", {
        run: (job) => {
          if (job.id === id) bodies.push(job.body);
          return { end: "done" };
        },
      });
    }
    expect(await world.home(id)).toMatchObject({ state: "done" });
    expect(bodies).toEqual(["newest"]);
  });

  it.each([{ window: "08:00-18:00 UTC" }, { maxPerSecond: 100 }])(
    "in a topic with %j, even if each of its messages is void when it is received",
    async (settings) => {
      const world = createWorld({ topics: { orders: settings } });
      const asked = { delay: 2 * SECOND, maxDelay: 5 * SECOND };
      await postpone(world, asked);
      let runs = 0;
      for (let i = 0; i < 30 && runs === 0; i++) {
        await world.pass(SECOND);
        meanwhile(
          world,
          ({ operation }) => operation === "changeMany",
          () => postpone(world, asked),
        );
        runs = (await consume(world, "orders")).length;
        delete world.pool.hooks.before;
      }
      expect(world.now()).toBeLessThanOrEqual(START + 10 * SECOND);
      expect(runs).toBe(1);
    },
  );
});
