import { describe, expect, it } from "vitest";
import { cancelByEvent } from "../../../src/protocol/change/cancel-by-event.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { extend, settlePulled } from "../../../src/protocol/run/settle-pulled.ts";
import { dead, key, meanwhile, pullOne } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const retry = { end: "failed", error: "busy", retryAfter: HOUR, verb: "retry" } as const;
const bury = { end: "buried", error: "broken", verb: "bury" } as const;
const VERBS = [
  ["finish", { end: "done" }, "done", {}],
  ["retry", retry, "scheduled", {}],
  ["retry by the backoff", { end: "failed", error: "busy", verb: "retry" }, "scheduled", {}],
  ["retry of the last attempt", retry, "dead", { maxAttempts: 1 }],
  ["bury", bury, "dead", {}],
] as const;

/** Makes the clock of each write another one, so that no two calls would write the same values. */
function letTimePass(world: World): void {
  world.pool.hooks.before = () => world.pass(1, { ticks: false });
}

describe("a repeat of a settling call answers as the first", () => {
  it.each(VERBS)("at the same moment: %s", async (_, ending, state, more) => {
    const world = createWorld();
    await world.file({ topic: "work", ...more });
    const { receipt } = await pullOne(world);
    letTimePass(world);
    const calls = Array.from({ length: 5 }, () => settlePulled(world.ctx, "work", receipt, ending));
    for (const home of await Promise.all(calls)) expect(home).toMatchObject({ state });
  });

  it.each(VERBS)("of a job that an event has cancelled while it ran: %s", async (_, ending, state, more) => {
    const world = createWorld();
    await world.file({ topic: "work", key, ...more });
    const { receipt } = await pullOne(world);
    const at = world.now();
    await cancelByEvent(world.ctx, { id: "e", topic: "work", key, at, until: at });
    letTimePass(world);
    const calls = Array.from({ length: 3 }, () => settlePulled(world.ctx, "work", receipt, ending));
    const expected = state === "done" ? "done" : "cancelled";
    for (const home of await Promise.all(calls)) expect(home).toMatchObject({ state: expected });
  });

  it("at the same moment: extend", async () => {
    const world = createWorld();
    await world.file({ topic: "work" });
    const { receipt } = await pullOne(world);
    letTimePass(world);
    const calls = Array.from({ length: 8 }, () => extend(world.ctx, "work", receipt, MINUTE));
    for (const { home } of await Promise.all(calls)) expect(home).toMatchObject({ state: "running" });
  });

  it("after a later run was settled by its own receipt", async () => {
    const world = createWorld();
    await world.file({ topic: "work", maxAttempts: 3 });
    const again = { ...retry, retryAfter: SECOND };
    const receipts: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { receipt } = await pullOne(world);
      receipts.push(receipt);
      await settlePulled(world.ctx, "work", receipt, again);
      await world.pass(2 * SECOND);
    }
    for (const receipt of receipts)
      expect(await settlePulled(world.ctx, "work", receipt, again)).toMatchObject({ state: "dead" });
    // Another call with such a receipt is none of them.
    for (const receipt of receipts)
      await expect(settlePulled(world.ctx, "work", receipt, bury)).rejects.toMatchObject({
        code: "claim-lost",
      });
  });

  it("but another call at the same moment is answered that the claim is lost", async () => {
    const world = createWorld();
    await world.file({ topic: "work" });
    const { receipt } = await pullOne(world);
    letTimePass(world);
    const calls = [retry, bury].map((ending) => settlePulled(world.ctx, "work", receipt, ending));
    const [first, second] = await Promise.allSettled(calls);
    const refused = [first, second].filter((one) => one?.status === "rejected");
    expect(refused).toEqual([
      expect.objectContaining({ reason: expect.objectContaining({ code: "claim-lost" }) }),
    ]);
  });
});

describe("a redrive that is sent twice at once with one Idempotency-Key", () => {
  const call = { key: "k", request: "r" };

  it.each([
    ["before it reads the job again", "read", {}],
    ["before it writes the job", "change", {}],
    ["before it writes the job and its key", "transact", { key }],
  ] as const)("counts the job in both answers: %s", async (_, operation, more) => {
    const world = createWorld();
    const { id } = await dead(world, more);
    let reads = 0;
    const isThere = (made: { operation: string }): boolean =>
      made.operation === operation && (operation !== "read" || ++reads === 2);
    const redriveIt = () => redrive(world.ctx, "orders", { ids: [id], max: 1, delay: HOUR, call });
    meanwhile(world, isThere, async () => {
      await world.pass(SECOND, { ticks: false });
      expect(await redriveIt()).toMatchObject({ redriven: 1 });
    });
    expect(await redriveIt()).toMatchObject({ redriven: 1 });
    expect(await world.home(id)).toMatchObject({ state: "scheduled", revision: 1 });
  });
});
