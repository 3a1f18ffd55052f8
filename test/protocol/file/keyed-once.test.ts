import { describe, expect, it } from "vitest";
import { LANDS_WITHIN } from "../../../core/constants.ts";
import { jobOfKey } from "../../../protocol/store/keys.ts";
import { consume } from "../../support/consume.ts";
import { type Call, callsOf, key, liveHomes } from "../../support/scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const once = { token: "t", hash: "h" };
const asked = { key, once, delay: HOUR };

const kindOf = ({ pk, sk }: { pk: string; sk: string }): string =>
  sk === "once" ? "once" : pk.startsWith("key#") ? "key" : "home";
const isInsertOf =
  (kind: string) =>
  ({ operation, keys: [place] }: Call): boolean =>
    operation === "insert" && place !== undefined && kindOf(place) === kind;

async function die(world: World, kind: string): Promise<void> {
  breakOnce(world, "before", isInsertOf(kind));
  await expect(world.file(asked)).rejects.toThrow("crash");
  expect(liveHomes(world)).toEqual([]);
}

describe("a call with a key and an Idempotency-Key", () => {
  it("writes the once item, the key item and the home one after the other", async () => {
    const world = createWorld();
    const calls = await callsOf(world, () => world.file(asked));
    const writes = calls.filter(({ operation }) => operation !== "read");
    expect(writes.map(({ operation, keys }) => [operation, ...keys.map(kindOf)])).toEqual([
      ["insert", "once"],
      ["insert", "key"],
      ["insert", "home"],
    ]);
  });

  it.each(["key", "home"])("that dies before it writes the %s is filed anew by a repeat", async (kind) => {
    const world = createWorld();
    await die(world, kind);
    await world.pass(MINUTE);
    const repeat = await world.fileAll(asked);
    expect(repeat.outcome).toBe("created");
    expect(liveHomes(world)).toMatchObject([{ id: repeat.home.id, dueAt: world.now() + HOUR }]);
    expect(await jobOfKey(world.ctx, "orders", key)).toBe(repeat.home.id);
    expect(await world.fileAll(asked)).toMatchObject({ outcome: "replayed", home: { id: repeat.home.id } });
    await world.pass(HOUR);
    expect(await consume(world, "orders")).toHaveLength(1);
  });

  it.each(["key", "home"])(
    "that died before it wrote the %s is filed anew when it cannot go on any more",
    async (kind) => {
      const world = createWorld();
      await die(world, kind);
      await world.pass(LANDS_WITHIN);
      const { home } = await world.fileAll(asked);
      expect(liveHomes(world)).toMatchObject([{ id: home.id }]);
      expect(await world.fileAll(asked)).toMatchObject({ outcome: "replayed", home: { id: home.id } });
    },
  );

  it.each(["key", "home"])(
    "that died before it wrote the %s lets its repeat act on the job that has the key by then",
    async (kind) => {
      const world = createWorld();
      await die(world, kind);
      const other = await world.file({ key, delay: HOUR });
      await expect(world.file(asked)).rejects.toMatchObject({
        code: "job-already-exists",
        data: { id: other.id },
      });
      expect(await world.fileAll({ ...asked, onDuplicate: "keep" })).toMatchObject({
        outcome: "kept",
        home: { id: other.id },
      });
      expect(await world.fileAll({ ...asked, onDuplicate: "keep" })).toMatchObject({
        outcome: "replayed",
        home: { id: other.id },
      });
      expect(liveHomes(world)).toMatchObject([{ id: other.id }]);
    },
  );

  it("that died before it wrote the home lets its repeat replace another job with the repeat's own due time", async () => {
    const world = createWorld();
    await die(world, "home");
    await world.file({ key, delay: 3 * HOUR });
    await world.pass(MINUTE);
    const { outcome, home } = await world.fileAll({ ...asked, onDuplicate: "replace" });
    expect([outcome, home.dueAt]).toEqual(["replaced", world.now() + HOUR]);
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
    world.pool.hooks.before = async (call) => {
      if (!isInsertOf("key")(call)) return;
      delete world.pool.hooks.before;
      await world.file({ ...asked, delay: 0 });
      await consume(world, "orders");
      await world.file({ key, delay: HOUR });
    };
    const slow = await world.fileAll({ ...asked, delay: 0, onDuplicate: "keep" }).catch(() => undefined);
    const repeat = await world.fileAll({ ...asked, delay: 0, onDuplicate: "keep" });
    expect(repeat).toMatchObject({ outcome: "replayed", home: { state: "done" } });
    if (slow) expect(slow.home.id).toBe(repeat.home.id);
    const reported = world.events.filter((event) => event.type === "enqueued" && event.id === repeat.home.id);
    expect(reported).toHaveLength(1);
    expect(liveHomes(world)).toHaveLength(1);
  });

  it("whose home its repeat stores is reported and answered once", async () => {
    const world = createWorld();
    world.pool.hooks.before = async (call) => {
      if (!isInsertOf("home")(call)) return;
      delete world.pool.hooks.before;
      await world.pass(SECOND);
      await world.file({ ...asked, delay: HOUR - SECOND });
    };
    const slow = await world.fileAll(asked);
    expect(slow).toMatchObject({ outcome: "replayed", home: { createdAt: world.now() } });
    expect(world.events.filter(({ type }) => type === "enqueued")).toHaveLength(1);
    expect(liveHomes(world)).toHaveLength(1);
  });

  it("that finds a live job changes it and its once item together", async () => {
    const world = createWorld();
    await world.file({ key, delay: HOUR });
    const calls = await callsOf(world, () => world.file({ ...asked, onDuplicate: "keep" }));
    const writes = calls.filter(({ operation }) => operation !== "read");
    expect(writes.map(({ operation }) => operation)).toEqual(["transact"]);
  });
});
