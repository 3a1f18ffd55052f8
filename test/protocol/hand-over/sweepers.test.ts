import { beforeEach, describe, expect, it } from "vitest";
import { addressOf } from "../../../src/core/job-id.ts";
import { parseMessage } from "../../../src/core/message.ts";
import type { TickPart } from "../../../src/core/tick-part.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { sweepPart, tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Queues, Sweepers } from "../../../src/protocol/ports.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const SHARDS = 16;
const JOBS = 128;

/** Runs the part as a further invocation does. */
const run = (world: World, part: TickPart) => sweepPart(world.ctx, part, part.until);

/** The ids of the jobs in all messages of the ready queue. */
const sentOf = (world: World) => world.visible("orders").map(({ id }) => id);

const auditsIn = (world: World) =>
  world.events.flatMap((event) => (event.type === "audited" ? event.shard : [])).toSorted((a, b) => a - b);

describe("a tick with a backlog", () => {
  let world: World;
  let parts: TickPart[];
  /** How Lambda treats the invocations that it has accepted, in the time for which the tick waits for them. */
  type Come = (part: TickPart) => Promise<unknown>;
  const tickWith = async (most: number, come: Come, start = async (_: TickPart): Promise<void> => {}) => {
    const sweepers = {
      most,
      async start(part: TickPart) {
        await start(part);
        parts.push(part);
      },
      async wait() {
        for (const part of parts) await come(part);
      },
    };
    await tick({ ...world.ctx, sweepers }, world.now() + 150 * SECOND);
  };
  const eachOnce = () => {
    expect(sentOf(world)).toHaveLength(JOBS);
    expect(new Set(sentOf(world)).size).toBe(JOBS);
  };
  const runs: Come = (part) => run(world, part);
  const never: Come = async () => {};

  beforeEach(async () => {
    parts = [];
    // Each call of the pool takes a millisecond. So the time of working alone is over when the first sweeps have begun.
    world = createWorld({ shards: SHARDS }, { ...SIZES, alone: 10 });
    await world.tick();
    for (let i = 0; i < JOBS; i++) await world.file({ delay: 5 * MINUTE });
    await world.pass(25 * MINUTE, { ticks: false });
    world.events.length = 0;
    let calls = 0;
    const { now } = world;
    world.pool.hooks.before = () => {
      calls += 1;
    };
    world.ctx = { ...world.ctx, clock: () => now() + calls };
  });

  it.each([1, 3, 63])(
    "and %i further invocations: keeps a share, gives away whole shards, and each job is sent once",
    async (most) => {
      await tickWith(most, runs);
      expect(parts.length).toBeGreaterThan(0);
      expect(parts.length).toBeLessThanOrEqual(most);
      const given = parts.flatMap(({ shards }) => shards);
      expect(new Set(given).size).toBe(given.length);
      expect(given.length).toBeLessThan(SHARDS);
      eachOnce();
    },
  );

  it("tells a further invocation which queues hang, so that it sends nothing to them", async () => {
    const part = { shards: [0, 1, 2, 3], until: world.now() + MINUTE };
    await run(world, { ...part, hung: [JSON.stringify([undefined, undefined, "orders"])] });
    expect(sentOf(world)).toEqual([]);
    await run(world, { ...part, shards: [4, 5, 6, 7], hung: [] });
    expect(sentOf(world)).not.toEqual([]);
  });

  it("sweeps and audits itself what was given to invocations that Lambda accepts and never runs", async () => {
    await tickWith(63, never);
    expect(parts.length).toBeGreaterThan(0);
    eachOnce();
    world.events.length = 0;
    await world.pass(12 * MINUTE, { ticks: false });
    await tickWith(63, never);
    expect(auditsIn(world)).toEqual(Array.from({ length: SHARDS }, (_, shard) => shard));
  });

  it("sends no job twice if its invocations run twice", async () => {
    await tickWith(63, async (part) => {
      await run(world, part);
      await run(world, part);
    });
    eachOnce();
  });

  it("sends no job twice if its invocations run after it has taken their shards back, and they do nothing once their time is over", async () => {
    await tickWith(63, never);
    for (const part of parts) await run(world, part);
    eachOnce();
    await world.pass(HOUR, { ticks: false });
    world.events.length = 0;
    for (const part of parts) await run(world, part);
    expect(world.events).toEqual([]);
  });

  it("takes back the shards of one invocation that does not run, and leaves alone those that have begun", async () => {
    let last: TickPart | undefined;
    await tickWith(3, async (part) => {
      last = part;
      if (part !== parts[0]) await run(world, { ...part, shards: part.shards.slice(0, 1) });
    });
    expect(last).toBeDefined();
    const left = parts.slice(1).flatMap(({ shards }) => shards.slice(1));
    const sent = new Set(sentOf(world).map((id) => addressOf(id).shard));
    expect([...sent].filter((shard) => left.includes(shard))).toEqual([]);
    expect(sent.size).toBe(SHARDS - left.length);
    // The next tick does what these invocations have left.
    await world.pass(MINUTE, { ticks: false });
    await world.tick();
    eachOnce();
  });

  it("does itself the shards for which Lambda starts no invocation, and reports why", async () => {
    await tickWith(63, runs, async ({ shards: [first = 0] }) => {
      if (first % 2 === 0) throw new Error("no concurrency is left");
    });
    eachOnce();
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "trouble", error: "no concurrency is left" }),
    );
  });

  it("does everything itself if it may start no invocation", async () => {
    await tickWith(0, never);
    expect(parts).toEqual([]);
    eachOnce();
  });

  it("starts no invocation when its own time is over", async () => {
    const start = () => Promise.reject(new Error("started"));
    await tick({ ...world.ctx, sweepers: { most: 7, start, wait: start } }, world.now());
    expect(world.events).not.toContainEqual(expect.objectContaining({ error: "started" }));
    expect(sentOf(world)).toEqual([]);
  });

  it("starts no invocation while the pool answers no sweep", async () => {
    world.pool.hooks.before = ({ keys }) => {
      if (keys.some(({ pk }) => pk.startsWith("cursor#"))) throw new Error("no cursor");
    };
    await expect(tickWith(63, never)).rejects.toThrow("no cursor");
    expect(parts).toEqual([]);
  });
});

it("a queue that one invocation can carry is never late, although Lambda accepts further invocations and runs none", async () => {
  const world = createWorld({ shards: 4 }, { ...SIZES, page: 10 });
  await world.tick();
  const jobs = Array.from({ length: 4_800 }, (_, i) => ({
    topic: "orders",
    body: "{}",
    dueAt: START + 5 * MINUTE + i * 100,
  }));
  await enqueueMany(world.ctx, jobs);
  const { late, accepted } = await runSlowTicks(world, 13);
  expect(accepted).toBeGreaterThan(0);
  expect(late).toEqual([]);
  const sent = world.queues
    .messages({ topic: "orders" })
    .flatMap(({ body }) => parseMessage(body)?.jobs ?? []);
  expect(new Set(sent.map(({ id }) => id)).size).toBe(jobs.length);
});

/**
 * Lets minutes pass, with ticks for which each call of the pool takes 100 ms. So each tick needs more than the five seconds in which it
 * works alone. Answers the ids of the jobs that were sent late, and how many invocations Lambda has accepted without running them.
 */
async function runSlowTicks(world: World, minutes: number): Promise<{ late: string[]; accepted: number }> {
  let lost = 0;
  world.pool.hooks.before = () => {
    lost += 100;
  };
  const clock = (): number => world.now() + lost;
  const late: string[] = [];
  const queues: Queues = {
    ...world.queues,
    send(queue, messages) {
      const sent = messages.flatMap(({ body }) => parseMessage(body)?.jobs ?? []);
      late.push(...sent.filter(({ dueAt }) => Date.parse(dueAt) < clock()).map(({ id }) => id));
      return world.queues.send(queue, messages);
    },
  };
  let accepted = 0;
  const sweepers: Sweepers = {
    most: 63,
    async start() {
      accepted += 1;
    },
    async wait(ms) {
      lost += ms;
    },
  };
  for (let minute = 0; minute < minutes; minute++) {
    lost = 0;
    await tick({ ...world.ctx, clock, queues, sweepers }, world.now() + 160 * SECOND);
    await world.pass(MINUTE, { ticks: false });
  }
  return { late, accepted };
}

it("a tick that is done in time starts no invocation", async () => {
  const world = createWorld({ shards: SHARDS });
  for (let i = 0; i < JOBS; i++) await world.file({ delay: 5 * MINUTE });
  await world.pass(5 * MINUTE, { ticks: false });
  const start = () => Promise.reject(new Error("started"));
  const sweepers = { most: 7, start, wait: start };
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
  const sweepers = { most: 63, start: async (part: TickPart) => void parts.push(part), wait: async () => {} };
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

it("the invocations of a tick keep a limit together", async () => {
  const world = createWorld({ shards: 64, topics: { t: { maxPerSecond: 10 } } }, { ...SIZES, alone: 10 });
  await world.tick();
  for (let i = 0; i < 600; i++) await world.file({ topic: "t", delay: 5 * MINUTE + i * 100 });
  await world.pass(8 * MINUTE);
  // The messages of jobs with starts are lost, and no tick runs for two hours.
  world.queues.purge({ topic: "t" });
  await world.pass(2 * HOUR, { ticks: false });
  const parts: TickPart[] = [];
  const runAll = async () => {
    for (const part of parts) await run(world, part);
  };
  const sweepers = { most: 63, start: async (part: TickPart) => void parts.push(part), wait: () => runAll() };
  // Each call of the pool takes a millisecond.
  let calls = 0;
  world.pool.hooks.before = () => {
    calls += 1;
  };
  const clock = (): number => world.now() + calls;
  await tick({ ...world.ctx, clock, sweepers }, world.now() + 150 * SECOND);
  expect(parts.length).toBeGreaterThan(0);
  expect(world.visible("t").length).toBeLessThanOrEqual(10);
});

it("a tick tells its invocations which queues have hung", async () => {
  const world = createWorld({ shards: 4, topics: { hung: {}, well: {} } });
  await world.tick();
  // Each shard has jobs of the queue that hangs.
  for (let i = 0; i < 40; i++) await world.file({ topic: "hung", delay: 5 * MINUTE });
  await world.pass(10 * MINUTE, { ticks: false });
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
  const sweepers = { most: 1, start: async (part: TickPart) => void parts.push(part), wait: async () => {} };
  // The tick works on one shard at once. The queue hangs in the first shard, and then the tick gives the others away.
  const ctx = { ...world.ctx, queues, clock: () => world.now() + lost, sizes: { ...SIZES, shards: 1 } };
  await tick({ ...ctx, sweepers }, world.now() + 150 * SECOND);
  expect(parts).toMatchObject([{ hung: [expect.stringContaining("hung")] }]);
});

it("an invocation for a part throws what a shard throws, after its other shards are done", async () => {
  const world = createWorld({ shards: 2 });
  await world.tick();
  for (let i = 0; i < 8; i++) await world.file({ delay: 5 * MINUTE });
  await world.pass(5 * MINUTE, { ticks: false });
  world.pool.hooks.before = ({ keys }) => {
    if (keys.some(({ pk }) => pk === "cursor#0")) throw new Error("no cursor");
  };
  const part = { shards: [0, 1], hung: [], until: world.now() + MINUTE };
  await expect(run(world, part)).rejects.toThrow("no cursor");
  expect(world.visible("orders").length).toBeGreaterThan(0);
});
