import { describe, expect, it } from "vitest";
import type { HomeIn } from "../../../src/core/home.ts";
import type { Item } from "../../../src/core/items.ts";
import { cancelByEvent } from "../../../src/protocol/change/cancel-by-event.ts";
import type { Pool } from "../../../src/protocol/ports.ts";
import { settleCrash, settleDone } from "../../../src/protocol/run/settle.ts";
import { extend, settlePulled } from "../../../src/protocol/run/settle-pulled.ts";
import { consume } from "../../support/consume.ts";
import { fail, key, liveOrRunning, orders, pull, pullOne } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

/** An event cancels the job of the key. */
function paid(world: World, topic: string): Promise<unknown> {
  const at = world.now();
  return cancelByEvent(world.ctx, { id: "e", topic, key, at, until: at });
}

describe("settles", () => {
  it("a job that was buried cannot be finished by the same receipt", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work" });
    const { receipt } = await pullOne(world);
    await settlePulled(world.ctx, "work", receipt, { end: "buried", error: "x", verb: "bury" });
    await expect(settlePulled(world.ctx, "work", receipt, { end: "done" })).rejects.toMatchObject({
      code: "claim-lost",
    });
    expect(await world.home(id)).toMatchObject({ state: "dead" });
  });

  it("a job that is done by one claim is refused to another claim", async () => {
    const world = createWorld();
    const { id } = await world.file({});
    await consume(world, "orders");
    const held = { id, topic: "orders", token: "another", attempt: 1 };
    expect(await settleDone(world.ctx, [held], world.now() + MINUTE)).toEqual(["lost"]);
  });

  it("the receipt of a crashed run cannot end the next one, nor take its message away", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work" });
    const first = await pullOne(world);
    await world.pass(MINUTE);
    await pull(world);
    await world.pass(23 * SECOND);
    const second = await pullOne(world);
    expect(second).toMatchObject({ id, attempt: 2 });
    for (const ending of [{ end: "done" }, { end: "failed", error: "", verb: "retry" }] as const) {
      await expect(settlePulled(world.ctx, "work", first.receipt, ending)).rejects.toMatchObject({
        code: "claim-lost",
      });
    }
    expect(await world.home(id)).toMatchObject({ state: "running", revision: 1 });
    await settlePulled(world.ctx, "work", second.receipt, { end: "done" });
  });

  it("a failed attempt is reported before the move to the next attempt", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work" });
    const { receipt } = await pullOne(world);
    world.events.length = 0;
    const ending = { end: "failed", error: "busy", retryAfter: 5 * SECOND, verb: "retry" } as const;
    await settlePulled(world.ctx, "work", receipt, ending);
    const ofJob = world.events.filter((event) => "id" in event && event.id === id);
    expect(ofJob.map(({ type }) => type)).toEqual(["failed", "moved"]);
    expect(ofJob[0]).toEqual({ type: "failed", topic: "work", id, attempt: 1, error: "busy" });
  });

  it("a lost claim deletes no message", async () => {
    const world = createWorld();
    await world.file({ topic: "work" });
    const { receipt } = await pullOne(world);
    world.pool.hooks.after = async ({ operation }) => {
      if (operation !== "read") return;
      delete world.pool.hooks.after;
      await world.pass(50 * SECOND, { ticks: false });
      const [job] = liveOrRunning(world);
      if (job?.state === "running") await settleCrash(world.ctx, job);
    };
    await expect(settlePulled(world.ctx, "work", receipt, { end: "done" })).rejects.toMatchObject({
      code: "claim-lost",
    });
    // The old message is still there beside that of the new revision.
    expect(world.queues.messages({ topic: "work" })).toHaveLength(2);
  });

  it("a run whose lease was prolonged in the meantime has not crashed", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work" });
    const { receipt } = await pullOne(world);
    const seen = await world.home(id);
    await extend(world.ctx, "work", receipt, HOUR);
    expect(await settleCrash(world.ctx, seen as HomeIn<"running">)).toBe("lost");
    expect(await world.home(id)).toMatchObject({ state: "running" });
  });

  it("a settle that DynamoDB does not answer is repeated, and if that fails too, its message stays", async () => {
    const world = createWorld();
    const { id } = await world.file({});
    let refused = 0;
    world.pool.hooks.before = async ({ operation }) => {
      if (operation !== "changeMany" || (await world.home(id)).state !== "running") return;
      if (++refused <= 2) throw new Error("no answer");
    };
    await consume(world, "orders");
    expect(await world.home(id)).toMatchObject({ state: "done" });
    const other = await world.file({});
    world.pool.hooks.before = async ({ operation }) => {
      if (operation === "changeMany" && (await world.home(other.id)).state === "running")
        throw new Error("no answer");
    };
    await consume(world, "orders");
    expect(world.queues.messages(orders)).toHaveLength(1);
  });

  it.each([
    ["retry", { end: "failed", error: "busy", verb: "retry" }],
    ["bury", { end: "buried", error: "busy", verb: "bury" }],
  ] as const)(
    "a %s by its receipt ends a job that an event has cancelled, and can be repeated",
    async (_, ending) => {
      const world = createWorld();
      const { id } = await world.file({ topic: "work", key });
      const { receipt } = await pullOne(world);
      await paid(world, "work");
      for (let i = 0; i < 2; i++)
        expect(await settlePulled(world.ctx, "work", receipt, ending)).toMatchObject({
          state: "cancelled",
          lastError: "busy",
          revision: 0,
        });
      await expect(settlePulled(world.ctx, "work", receipt, { end: "done" })).rejects.toMatchObject({
        code: "claim-lost",
      });
      expect(world.events.filter(({ type }) => type === "cancelled")).toHaveLength(1);
      expect(world.queues.messages({ topic: "work" })).toEqual([]);
      expect(await world.home(id)).not.toHaveProperty("log");
    },
  );

  it("a run that an event has cancelled ends its job once, even if the answer to that write is lost", async () => {
    const world = createWorld();
    const { id } = await world.file({ key });
    const { pool } = world;
    const change: Pool["change"] = async (wanted, by) => {
      const { item } = await pool.change(wanted, by);
      // The repeated write finds its own effect.
      return "state" in wanted.set ? { changed: false, item } : { changed: true, item: item as Item };
    };
    const ctx = { ...world.ctx, pool: { ...pool, change } };
    const run = async () => {
      await paid(world, "orders");
      return fail();
    };
    await consume(world, "orders", { ctx, run });
    expect(await world.home(id)).toMatchObject({ state: "cancelled", lastError: "no" });
    expect(world.events).toContainEqual({ type: "cancelled", topic: "orders", id });
    expect(world.queues.messages(orders)).toEqual([]);
    expect(pool.items().find(({ pk }) => pk.startsWith("key#"))).toHaveProperty("expiresAt");
  });
});
