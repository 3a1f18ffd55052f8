import { describe, expect, test } from "vitest";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { receive } from "../../../src/protocol/run/pull.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

/** A function that answers how many messages were sent so far. */
function countingSends(world: World): () => number {
  let sends = 0;
  world.queues.hooks.after = ({ operation, count }) => {
    if (operation === "send") sends += count;
  };
  return () => sends;
}

const KEYED = { topic: "orders", key: "device-1", onDuplicate: "replace" } as const;

describe("the number of messages grows with the calls, not with their square,", () => {
  const consumers = {
    "a consumer of one message at a time": (world: World) => consume(world, "orders", { max: 1 }),
    "a consumer of three": (world: World) => consume(world, "orders", { max: 3 }),
    "a puller of one": (world: World) =>
      receive(world.ctx, "orders", { max: 1, waitSeconds: 0 }, world.timers),
  };
  test.each(Object.entries(consumers))("if a key is replaced each second, with %s", async (name, take) => {
    const world = createWorld({
      topics: { orders: name.startsWith("a puller") ? { consumer: "pull" } : {} },
    });
    const sent = countingSends(world);
    const CALLS = 600;
    for (let i = 0; i < CALLS; i++) {
      await world.fileAll({ ...KEYED, delay: 60 * SECOND });
      await world.pass(SECOND);
      while (world.visible("orders").length > 0) expect(await take(world)).toEqual([]);
    }
    // A tick sends a few requests more.
    expect(sent()).toBeLessThanOrEqual(CALLS + 10);
  });

  test("if each message comes when only the next revision exists", async () => {
    const world = createWorld();
    const sent = countingSends(world);
    const CALLS = 100;
    for (let i = 0; i < CALLS; i++) {
      await world.fileAll({ ...KEYED, delay: SECOND });
      while (world.visible("orders").length > 0)
        expect(await consume(world, "orders", { max: 1 })).toEqual([]);
      await world.pass(SECOND);
    }
    // A tick sends a few requests more.
    expect(sent()).toBeLessThanOrEqual(CALLS + 10);
  });

  test("if many calls keep a job, and it then fails", async () => {
    const world = createWorld();
    const sent = countingSends(world);
    const CALLS = 50;
    for (let i = 0; i < CALLS; i++) await world.fileAll({ ...KEYED, onDuplicate: "keep", delay: SECOND });
    await world.pass(SECOND);
    let runs = 0;
    for (let s = 0; s < 120; s++) {
      const run = () =>
        ++runs === 1 ? ({ end: "failed", error: "no" } as const) : ({ end: "done" } as const);
      while (world.visible("orders").length > 0) await consume(world, "orders", { max: 1, run });
      await world.pass(SECOND);
    }
    expect(runs).toBe(2);
    expect(sent()).toBeLessThanOrEqual(CALLS + 2);
  });

  test("if a paused topic's key is replaced each second, and then the topic is resumed", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "orders");
    const CALLS = 600;
    for (let i = 0; i < CALLS; i++) {
      await world.fileAll({ ...KEYED, delay: 60 * SECOND });
      await world.pass(SECOND);
    }
    const sent = countingSends(world);
    await resume(world.ctx, "orders", undefined);
    await world.pass(120 * SECOND);
    let runs = 0;
    while (world.visible("orders").length > 0) runs += (await consume(world, "orders")).length;
    expect(runs).toBe(1);
    expect(sent()).toBeLessThanOrEqual(4);
  });

  test("if a key is replaced each second while no tick comes, and the sent messages are lost", async () => {
    const world = createWorld();
    for (let i = 0; i < 600; i++) {
      await world.fileAll({ ...KEYED, delay: 60 * SECOND });
      await world.pass(SECOND, { ticks: false });
    }
    const sent = countingSends(world);
    await world.tick();
    // One message by the sweep, although it reads a look of each revision.
    expect(sent()).toBe(1);
    world.queues.purge({ topic: "orders" });
    // One more by the audit, which reads these looks too.
    await world.pass(20 * MINUTE);
    expect(sent()).toBe(2);
  });
});

test("the jobs of a batch run although a job of a void message cannot be claimed, because its topic's pause cannot be read", async () => {
  const world = createWorld();
  const plain = await world.file({ topic: "orders", delay: 5 * SECOND });
  const postponed = { topic: "orders", key: "a", onDuplicate: "postpone", maxDelay: 10 * SECOND } as const;
  const { home } = await world.fileAll({ ...postponed, delay: 5 * SECOND });
  await world.pass(4 * SECOND);
  await world.fileAll({ ...postponed, delay: 5 * SECOND });
  await world.pass(7 * SECOND);
  let isClaimed = false;
  world.pool.hooks.before = ({ operation, keys }) => {
    isClaimed ||= operation === "changeMany";
    if (isClaimed && operation === "read" && keys.some(({ pk }) => pk.startsWith("pause#")))
      throw new Error("no answer");
  };
  // The read of the refused job takes so long that the claim of its next revision reads the pause again.
  world.pool.hooks.after = ({ operation }) =>
    isClaimed && operation === "read" ? world.pass(6 * SECOND) : undefined;
  expect(await consume(world, "orders", { max: 2 })).toMatchObject([{ id: plain.id }]);
  expect(world.events).toContainEqual(
    expect.objectContaining({ type: "trouble", what: "looking at refused claims", error: "no answer" }),
  );
  world.pool.hooks.before = () => {};
  world.pool.hooks.after = () => {};
  expect(await consume(world, "orders")).toMatchObject([{ id: home.id }]);
});
