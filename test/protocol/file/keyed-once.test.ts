import { describe, expect, it } from "vitest";
import { idOfKey } from "../../../src/protocol/store/read-job.ts";
import { consume } from "../../support/consume.ts";
import { type Call, callsOf, key, liveHomes, meanwhile } from "../../support/scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE } from "../../support/world.ts";

const once = { token: "t", hash: "h" };
const asked = { key, once, delay: HOUR };

const kindOf = ({ pk, sk }: { pk: string; sk: string }): string =>
  sk === "once" ? "once" : pk.startsWith("key#") ? "key" : "home";
const isTransaction = ({ operation }: Call): boolean => operation === "transact";

describe("a call with a key and an Idempotency-Key", () => {
  it("writes the home, the key item and the once item in one transaction", async () => {
    const world = createWorld();
    const calls = await callsOf(world, () => world.file(asked));
    const writes = calls.filter(({ operation }) => operation !== "read");
    expect(writes.map(({ operation, keys }) => [operation, ...keys.map(kindOf)])).toEqual([
      ["transact", "home", "key", "once"],
    ]);
  });

  it("that dies before its transaction is filed anew by a repeat, or acts on the job that has the key by then", async () => {
    const world = createWorld();
    breakOnce(world, "before", isTransaction);
    await expect(world.file(asked)).rejects.toThrow("crash");
    const other = await world.file({ key, delay: HOUR });
    await expect(world.file(asked)).rejects.toMatchObject({
      code: "job-already-exists",
      data: { id: other.id },
    });
    for (const outcome of ["kept", "replayed"])
      expect(await world.fileAll({ ...asked, onDuplicate: "keep" })).toMatchObject({
        outcome,
        home: { id: other.id },
      });
    expect(liveHomes(world)).toMatchObject([{ id: other.id }]);
  });

  it("whose answer is lost is answered to a repeat with its job", async () => {
    const world = createWorld();
    breakOnce(world, "after", isTransaction);
    const first = await world.fileAll(asked);
    await world.pass(MINUTE);
    expect(await world.fileAll(asked)).toMatchObject({ outcome: "replayed", home: { id: first.home.id } });
    expect(liveHomes(world)).toMatchObject([{ id: first.home.id }]);
    expect(await idOfKey(world.ctx, "orders", key)).toBe(first.home.id);
  });

  it("that comes twice at once files one job", async () => {
    const world = createWorld();
    const both = await Promise.allSettled([world.file(asked), world.file(asked)]);
    expect(both.map(({ status }) => status)).toContain("fulfilled");
    expect(liveHomes(world)).toHaveLength(1);
    expect(await world.fileAll(asked)).toMatchObject({ outcome: "replayed" });
  });

  it("is slower than its repeat, whose job has run and whose key another job has by then", async () => {
    const world = createWorld();
    meanwhile(world, isTransaction, async () => {
      await world.file({ ...asked, delay: 0 });
      await consume(world, "orders");
      await world.file({ key, delay: HOUR });
    });
    const slow = await world.fileAll({ ...asked, delay: 0, onDuplicate: "keep" });
    expect(slow).toMatchObject({ outcome: "replayed", home: { state: "done" } });
    const reported = world.events.filter((event) => event.type === "enqueued" && event.id === slow.home.id);
    expect(reported).toHaveLength(1);
    expect(liveHomes(world)).toHaveLength(1);
  });

  it("whose job has ended and been deleted is answered with 404 as long as the key is remembered", async () => {
    const world = createWorld();
    await world.file({ ...asked, delay: 3 * 24 * HOUR });
    await world.ctx.pool.remove(liveHomes(world), world.now() + MINUTE);
    await expect(world.file(asked)).rejects.toMatchObject({ code: "job-not-found" });
  });

  it("that finds a live job changes it and its once item together", async () => {
    const world = createWorld();
    await world.file({ key, delay: HOUR });
    const calls = await callsOf(world, () => world.file({ ...asked, onDuplicate: "keep" }));
    const writes = calls.filter(({ operation }) => operation !== "read");
    expect(writes.map(({ operation }) => operation)).toEqual(["transact"]);
  });
});
