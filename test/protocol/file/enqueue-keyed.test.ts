import { describe, expect, it } from "vitest";
import { redriveJob } from "../../../src/protocol/change/redrive.ts";
import { enqueue } from "../../../src/protocol/file/enqueue.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { consume } from "../../support/consume.ts";
import { type Call, callsOf, dead, key, liveHomes, meanwhile } from "../../support/scenes.ts";
import { breakOnce, createWorld, HOUR } from "../../support/world.ts";

const isTransaction = ({ operation }: Call): boolean => operation === "transact";

describe("a call that files a job under a key", () => {
  it("writes the key item and the home in one transaction", async () => {
    const world = createWorld();
    const calls = await callsOf(world, () => world.file({ key, delay: HOUR }));
    const writes = calls.filter(({ operation }) => operation !== "read");
    expect(writes.map(({ operation, keys }) => [operation, keys.length])).toEqual([["transact", 2]]);
  });

  it("checks the home of the job that had the key only if that job is dead", async () => {
    const world = createWorld();
    await world.file({ key });
    await consume(world, "orders");
    const calls = await callsOf(world, () => world.file({ key, delay: HOUR }));
    expect(calls.filter(isTransaction).map(({ keys }) => keys.length)).toEqual([2]);
  });

  it("does not take the key of a dead job that is redriven meanwhile", async () => {
    const world = createWorld();
    const { id } = await dead(world, { key });
    meanwhile(world, isTransaction, async () => {
      await redriveJob(world.ctx, await world.home(id), world.now() + HOUR);
    });
    await expect(world.file({ key })).rejects.toMatchObject({ code: "job-already-exists", data: { id } });
    expect(liveHomes(world)).toMatchObject([{ id }]);
  });

  it("leaves nothing if it dies before the transaction", async () => {
    const world = createWorld();
    breakOnce(world, "before", isTransaction);
    await expect(world.file({ key, delay: HOUR })).rejects.toThrow("crash");
    expect(world.pool.items().filter(({ pk }) => pk.startsWith("key#"))).toEqual([]);
    const { id } = await world.file({ key, delay: HOUR });
    expect(liveHomes(world)).toMatchObject([{ id, key }]);
  });

  it.each(["new", "used before"])(
    "files one job if the answer to its transaction is lost, with a %s key",
    async (what) => {
      const world = createWorld();
      if (what === "used before") {
        await world.file({ key });
        await consume(world, "orders");
      }
      breakOnce(world, "after", isTransaction);
      await world.file({ key, delay: HOUR }).catch(() => {});
      const again = world.file({ key, delay: HOUR });
      await expect(again).rejects.toMatchObject({ code: "job-already-exists" });
      expect(liveHomes(world)).toHaveLength(1);
    },
  );

  it("files no second job if another call takes the key meanwhile", async () => {
    const world = createWorld();
    let other: string | undefined;
    meanwhile(world, isTransaction, async () => {
      other = (await world.file({ key, delay: HOUR })).id;
    });
    const refusal = await world.file({ key, delay: 2 * HOUR }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "job-already-exists", data: { id: other } });
    expect(liveHomes(world)).toMatchObject([{ id: other }]);
  });

  it("answers the job as it filed it, although another call has replaced it since", async () => {
    const world = createWorld();
    const at = world.now() + HOUR;
    world.pool.hooks.after = async (call) => {
      if (!isTransaction(call)) return;
      delete world.pool.hooks.after;
      await world.fileAll({ key, delay: 2 * HOUR, onDuplicate: "replace" });
    };
    let isFirst = true;
    const transact: Context["pool"]["transact"] = async (writes, by) => {
      const outcome = await world.pool.transact(writes, by);
      // The answer was lost, and the pool repeated the call.
      if (isFirst && outcome.done) {
        isFirst = false;
        return { done: false, refused: writes.map(() => undefined) };
      }
      return outcome;
    };
    const ctx = { ...world.ctx, pool: { ...world.pool, transact } };
    const filed = await enqueue(ctx, { topic: "orders", key, body: "{}", dueAt: at });
    expect(filed).toMatchObject({ outcome: "created", home: { dueAt: at } });
    expect(liveHomes(world)).toMatchObject([{ id: filed.home.id, dueAt: at + HOUR }]);
  });
});
