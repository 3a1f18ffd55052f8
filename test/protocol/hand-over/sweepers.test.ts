import { beforeEach, describe, expect, it } from "vitest";
import { SIZES } from "../../../core/work-sizes.ts";
import { sweepShards, tick } from "../../../protocol/hand-over/tick.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

const SHARDS = 8;
const JOBS = 64;

describe("a tick with a backlog", () => {
  let world: World;
  /** The parts that the tick has given to further invocations. */
  let started: { shards: readonly number[]; until: number }[];
  const tickWith = async (most: number, start = async (_: readonly number[]): Promise<void> => {}) => {
    const sweepers = {
      most,
      async start(shards: readonly number[], until: number) {
        await start(shards);
        started.push({ shards, until });
      },
    };
    await tick({ ...world.ctx, sweepers }, world.now() + 150 * SECOND);
  };
  /** How often the ready queue got a message of each job. */
  const sent = () => world.visible("orders").map(({ id }) => id);

  beforeEach(async () => {
    started = [];
    // The time of working alone is over at once.
    world = createWorld({ shards: SHARDS }, { ...SIZES, alone: 0 });
    await world.tick();
    for (let i = 0; i < JOBS; i++) await world.file({ delay: 5 * MINUTE });
    await world.pass(5 * MINUTE, { ticks: false });
  });

  it("gives each shard to one invocation, keeps its own share, and all jobs are sent once", async () => {
    await tickWith(3);
    expect(started).toHaveLength(3);
    const given = started.flatMap(({ shards }) => shards);
    expect(given).toHaveLength(6);
    expect(new Set(given).size).toBe(6);
    const own = sent().length;
    expect(own).toBeGreaterThan(0);
    expect(own).toBeLessThan(JOBS);
    for (const { shards, until } of started) {
      expect(until).toBe(world.now() + 55 * SECOND);
      await sweepShards(world.ctx, shards, until);
    }
    expect(sent()).toHaveLength(JOBS);
    expect(new Set(sent()).size).toBe(JOBS);
  });

  it("does itself the shards for which Lambda starts no invocation, and reports why", async () => {
    await tickWith(7, async ([first = 0]) => {
      if (first % 2 === 0) throw new Error("no concurrency is left");
    });
    for (const { shards, until } of started) await sweepShards(world.ctx, shards, until);
    expect(new Set(sent()).size).toBe(JOBS);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "trouble", error: "no concurrency is left" }),
    );
  });

  it("does everything itself if it may start no invocation", async () => {
    await tickWith(0);
    expect(started).toEqual([]);
    expect(sent()).toHaveLength(JOBS);
  });

  it("starts no invocation when its own time is over", async () => {
    const sweepers = { most: 7, start: () => Promise.reject(new Error("started")) };
    await tick({ ...world.ctx, sweepers }, world.now());
    expect(world.events).not.toContainEqual(expect.objectContaining({ error: "started" }));
    expect(sent()).toEqual([]);
  });

  it("leaves the shards of an invocation that dies to the next tick", async () => {
    await tickWith(7);
    await world.pass(MINUTE, { ticks: false });
    await world.tick();
    expect(new Set(sent()).size).toBe(JOBS);
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

it("an invocation for a part throws what a shard throws, after its other shards are done", async () => {
  const world = createWorld({ shards: 2 });
  await world.tick();
  for (let i = 0; i < 8; i++) await world.file({ delay: 5 * MINUTE });
  await world.pass(5 * MINUTE, { ticks: false });
  world.pool.hooks.before = ({ keys }) => {
    if (keys.some(({ pk }) => pk === "cursor#0")) throw new Error("no cursor");
  };
  await expect(sweepShards(world.ctx, [0, 1], world.now() + MINUTE)).rejects.toThrow("no cursor");
  expect(world.visible("orders").length).toBeGreaterThan(0);
});
