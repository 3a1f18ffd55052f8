import { beforeEach, describe, expect, it } from "vitest";
import { messageText, parseMessage } from "../../../core/message.ts";
import type { TickPart } from "../../../core/tick-part.ts";
import { SIZES } from "../../../core/work-sizes.ts";
import { enqueueMany } from "../../../protocol/file/enqueue.ts";
import { sweepPart, tick } from "../../../protocol/hand-over/tick.ts";
import type { Queues } from "../../../protocol/ports.ts";
import { cursors } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const SHARDS = 16;
const JOBS = 128;

/** Runs the part as a further invocation does. */
const run = (world: World, part: TickPart) => sweepPart(world.ctx, part, part.until);

describe("a tick with a backlog", () => {
  let world: World;
  let parts: TickPart[];
  const tickWith = async (most: number, start = async (_: TickPart): Promise<void> => {}) => {
    const sweepers = {
      most,
      async start(part: TickPart) {
        await start(part);
        parts.push(part);
      },
    };
    await tick({ ...world.ctx, sweepers }, world.now() + 150 * SECOND);
  };
  /** The ids of the jobs in all messages of the ready queue. */
  const sent = () => world.visible("orders").map(({ id }) => id);

  beforeEach(async () => {
    parts = [];
    // The time of working alone is over at once.
    world = createWorld({ shards: SHARDS }, { ...SIZES, alone: 0 });
    await world.tick();
    for (let i = 0; i < JOBS; i++) await world.file({ delay: 5 * MINUTE });
    await world.pass(5 * MINUTE, { ticks: false });
  });

  it.each([1, 3, 63])(
    "and %i further invocations: does its own share, and all jobs are sent once",
    async (most) => {
      await tickWith(most);
      expect(parts.length).toBeGreaterThan(0);
      expect(parts.length).toBeLessThanOrEqual(most);
      const given = parts.flatMap(({ shards }) => shards);
      // If there are enough invocations, several share a shard.
      if (most < 2 * SHARDS) expect(new Set(given).size).toBe(given.length);
      const own = sent().length;
      // If there are enough invocations for all shards, the tick gives all of them away.
      expect(own > 0).toBe(most < 2 * SHARDS);
      expect(own).toBeLessThan(JOBS);
      for (const part of parts) {
        expect(part.until).toBe(world.now() + 55 * SECOND);
        await run(world, part);
      }
      expect(sent()).toHaveLength(JOBS);
      expect(new Set(sent()).size).toBe(JOBS);
    },
  );

  it("does itself the shards for which Lambda starts no invocation, and reports why", async () => {
    await tickWith(63, async ({ shards: [first = 0] }) => {
      if (first % 2 === 0) throw new Error("no concurrency is left");
    });
    for (const part of parts) await run(world, part);
    expect(sent()).toHaveLength(JOBS);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "trouble", error: "no concurrency is left" }),
    );
  });

  it("does everything itself if it may start no invocation", async () => {
    await tickWith(0);
    expect(parts).toEqual([]);
    expect(sent()).toHaveLength(JOBS);
  });

  it("starts no invocation when its own time is over", async () => {
    const sweepers = { most: 7, start: () => Promise.reject(new Error("started")) };
    await tick({ ...world.ctx, sweepers }, world.now());
    expect(world.events).not.toContainEqual(expect.objectContaining({ error: "started" }));
    expect(sent()).toEqual([]);
  });

  it("leaves the shards of an invocation that dies to the next tick", async () => {
    await tickWith(63);
    await world.pass(MINUTE, { ticks: false });
    await world.tick();
    expect(new Set(sent()).size).toBe(JOBS);
  });

  it("starts no invocation while the pool answers no sweep", async () => {
    world.pool.hooks.before = ({ keys }) => {
      if (keys.some(({ pk }) => pk.startsWith("cursor#"))) throw new Error("no cursor");
    };
    await expect(tickWith(63)).rejects.toThrow("no cursor");
    expect(parts).toEqual([]);
  });

  it("works on while one shard hangs", async () => {
    const hang = Promise.withResolvers<void>();
    let hanging: string | undefined;
    world.pool.hooks.before = ({ keys }) => {
      hanging ??= keys.find(({ pk }) => pk.startsWith("cursor#"))?.pk;
      if (keys.some(({ pk }) => pk === hanging)) return hang.promise;
    };
    const ticking = tickWith(63);
    await expect.poll(() => parts.length).toBeGreaterThan(0);
    for (const part of parts) await run(world, part);
    expect(sent().length).toBeGreaterThan(JOBS / 2);
    const before = parts.length;
    hang.resolve();
    await ticking;
    for (const part of parts.slice(before)) await run(world, part);
    expect(sent()).toHaveLength(JOBS);
    expect(new Set(sent()).size).toBe(JOBS);
  });
});

describe("the overdue jobs of a shard", () => {
  const COUNT = 600;
  const backlog = async (shards: number): Promise<World> => {
    const world = createWorld({ shards }, { ...SIZES, page: 5, mark: 5 });
    await world.tick();
    const jobs = Array.from({ length: COUNT }, (_, i) => ({
      topic: "orders",
      body: "{}",
      dueAt: START + 5 * MINUTE + i * 6 * SECOND,
    }));
    await enqueueMany(world.ctx, jobs);
    await world.pass(2 * HOUR, { ticks: false });
    return world;
  };
  const sentOf = (world: World) => world.visible("orders").map(({ id }) => id);
  /** Runs a tick whose time of working alone is over when it has sent some messages. */
  const tickShortly = async (world: World, start: (part: TickPart) => Promise<void>): Promise<void> => {
    const before = sentOf(world).length;
    const clock = (): number => world.now() + (sentOf(world).length - before > 20 ? SIZES.alone + 1 : 0);
    await tick({ ...world.ctx, clock, sweepers: { most: 63, start } }, world.now() + 40 * SECOND);
  };

  it.each([1, 2])(
    "are shared by several invocations, and each job is sent once (%i shards)",
    async (shards) => {
      const world = await backlog(shards);
      const parts: TickPart[] = [];
      await tickShortly(world, async (part) => void parts.push(part));
      expect(sentOf(world).length).toBeLessThan(COUNT / 2);
      expect(parts).toHaveLength(8 * shards);
      expect(new Set(parts.flatMap((part) => part.shards)).size).toBe(shards);
      await Promise.all(parts.map((part) => run(world, part)));
      expect(sentOf(world)).toHaveLength(COUNT);
      expect(new Set(sentOf(world)).size).toBe(COUNT);
      expect(cursors(world).map(({ ahead }) => ahead)).toEqual(cursors(world).map(() => undefined));
    },
  );

  it("are left to the next tick if some of these invocations die, and no job is sent twice", async () => {
    const world = await backlog(1);
    const parts: TickPart[] = [];
    await tickShortly(world, async (part) => void parts.push(part));
    for (const part of parts.filter((_, i) => i % 2 === 0)) await run(world, part);
    expect(sentOf(world).length).toBeLessThan(COUNT);
    await world.pass(MINUTE, { ticks: false });
    await world.tick();
    expect(sentOf(world)).toHaveLength(COUNT);
    expect(new Set(sentOf(world)).size).toBe(COUNT);
  });

  it("stay with the tick if Lambda starts no invocation, and no job is sent twice", async () => {
    const world = await backlog(1);
    const parts: TickPart[] = [];
    await tickShortly(world, async (part) => {
      if (parts.length === 3) throw new Error("no concurrency is left");
      parts.push(part);
    });
    for (const part of parts) await run(world, part);
    expect(sentOf(world)).toHaveLength(COUNT);
    expect(new Set(sentOf(world)).size).toBe(COUNT);
  });

  const auditsIn = (world: World) =>
    world.events.flatMap((event) => (event.type === "audited" ? event.shard : []));

  it("are audited once, by an invocation that only audits, also if the tick keeps a part of the sweep", async () => {
    const world = await backlog(1);
    const parts: TickPart[] = [];
    let calls = 0;
    world.events.length = 0;
    await tickShortly(world, async (part) => {
      if (calls++ === 0) throw new Error("no concurrency is left");
      parts.push(part);
    });
    expect(auditsIn(world)).toEqual([]);
    for (const part of parts) await run(world, part);
    expect(auditsIn(world)).toEqual([0]);
    expect(parts.filter(({ ranges }) => ranges?.length === 0)).toHaveLength(1);
  });

  it("are audited by the tick if Lambda does not start that invocation", async () => {
    const world = await backlog(1);
    world.events.length = 0;
    await tickShortly(world, async ({ ranges }) => {
      if (ranges?.length === 0) throw new Error("no concurrency is left");
    });
    expect(auditsIn(world)).toEqual([0]);
  });

  it("an invocation that runs twice, or long after its tick, sends no job a second time", async () => {
    const world = await backlog(1);
    const parts: TickPart[] = [];
    await tickShortly(world, async (part) => void parts.push(part));
    for (const part of [...parts, ...parts]) await run(world, part);
    await world.pass(MINUTE);
    for (const part of parts) await run(world, { ...part, until: world.now() + MINUTE });
    expect(sentOf(world)).toHaveLength(COUNT);
  });
});

it("a tick that is done in time starts no invocation", async () => {
  const world = createWorld({ shards: SHARDS });
  for (let i = 0; i < JOBS; i++) await world.file({ delay: 5 * MINUTE });
  await world.pass(5 * MINUTE, { ticks: false });
  const sweepers = { most: 7, start: () => Promise.reject(new Error("started")) };
  await tick({ ...world.ctx, sweepers }, world.now() + 150 * SECOND);
  expect(world.visible("orders")).toHaveLength(JOBS);
  expect(world.events).not.toContainEqual(expect.objectContaining({ error: "started" }));
});

it("new jobs of each shard are in their queue in time after an outage, although Lambda runs no further invocation", async () => {
  const world = createWorld({ shards: 64 });
  await world.tick();
  for (let i = 0; i < JOBS; i++) await world.file({ delay: 10 * MINUTE + i * MINUTE });
  await world.pass(4 * HOUR, { ticks: false });
  const due = world.now() + 4 * MINUTE;
  for (let i = 0; i < JOBS; i++) await world.file({ dueAt: due + i });
  // Each call of the pool takes 5 ms.
  let calls = 0;
  world.pool.hooks.before = () => {
    calls += 1;
  };
  const clock = (): number => world.now() + calls * 5;
  const parts: TickPart[] = [];
  const sweepers = { most: 63, start: async (part: TickPart) => void parts.push(part) };
  while (world.now() < due) {
    calls = 0;
    await tick({ ...world.ctx, clock, sweepers }, world.now() + 50 * SECOND);
    await world.pass(MINUTE, { ticks: false });
  }
  expect(parts.length).toBeGreaterThan(0);
  const messages = world.queues
    .messages({ topic: "orders" })
    .flatMap(({ body }) => parseMessage(body)?.jobs ?? []);
  const inTime = messages.filter(({ dueAt }) => Date.parse(dueAt) >= due).map(({ id }) => id);
  expect(new Set(inTime).size).toBe(JOBS);
});

it("the invocations of a tick do not take the messages of each other for a backlog, and keep a limit together", async () => {
  const world = createWorld({ shards: 64, topics: { t: { maxPerSecond: 10 } } }, { ...SIZES, alone: 0 });
  await world.tick();
  for (let i = 0; i < 600; i++) await world.file({ topic: "t", delay: 5 * MINUTE + i * 100 });
  await world.pass(8 * MINUTE);
  // The messages of jobs with starts are lost, and no tick runs for two hours. Then twenty other messages are ready.
  world.queues.purge({ topic: "t" });
  await world.pass(2 * HOUR, { ticks: false });
  const others = Array.from({ length: 20 }, () => ({
    body: messageText("t", undefined, []),
    delaySeconds: 0,
  }));
  await world.queues.send({ topic: "t" }, others);
  const parts: TickPart[] = [];
  const sweepers = { most: 63, start: async (part: TickPart) => void parts.push(part) };
  await tick({ ...world.ctx, sweepers }, world.now() + 150 * SECOND);
  for (const part of parts) await run(world, part);
  expect(parts.length).toBeGreaterThan(0);
  // As many jobs as there are ready messages count as jobs whose messages lie in the queue.
  expect(world.visible("t").length).toBeLessThanOrEqual(10 + 20);
});

it("a tick tells its invocations whose consumers are behind, and which queues have hung", async () => {
  const world = createWorld({ shards: 4, topics: { behind: {}, hung: {}, well: {} } });
  await world.tick();
  // Each shard has jobs of the queue that hangs.
  for (let i = 0; i < 40; i++) await world.file({ topic: "hung", delay: 5 * MINUTE });
  await world.pass(10 * MINUTE, { ticks: false });
  const others = Array.from({ length: 20 }, () => ({
    body: messageText("behind", undefined, []),
    delaySeconds: 0,
  }));
  await world.queues.send({ topic: "behind" }, others);
  let lost = 0;
  const queues: Queues = {
    ...world.queues,
    async send(queue, messages) {
      if (!("topic" in queue) || queue.topic !== "hung") return world.queues.send(queue, messages);
      lost += 15 * SECOND;
      return messages.map(() => ({ outcome: "unreachable", reason: "TimeoutError" }));
    },
  };
  const parts: TickPart[] = [];
  const sweepers = { most: 1, start: async (part: TickPart) => void parts.push(part) };
  // The tick works on one shard at once. The queue hangs in the first shard, and then the tick gives the others away.
  const ctx = { ...world.ctx, queues, clock: () => world.now() + lost, sizes: { ...SIZES, shards: 1 } };
  await tick({ ...ctx, sweepers }, world.now() + 150 * SECOND);
  expect(parts).toMatchObject([{ behind: ["behind"], hung: [expect.stringContaining("hung")] }]);
});

it("an invocation for a part throws what a shard throws, after its other shards are done", async () => {
  const world = createWorld({ shards: 2 });
  await world.tick();
  for (let i = 0; i < 8; i++) await world.file({ delay: 5 * MINUTE });
  await world.pass(5 * MINUTE, { ticks: false });
  world.pool.hooks.before = ({ keys }) => {
    if (keys.some(({ pk }) => pk === "cursor#0")) throw new Error("no cursor");
  };
  const part = { shards: [0, 1], behind: [], hung: [], until: world.now() + MINUTE };
  await expect(run(world, part)).rejects.toThrow("no cursor");
  expect(world.visible("orders").length).toBeGreaterThan(0);
});
