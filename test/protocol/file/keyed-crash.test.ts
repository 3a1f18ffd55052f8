import { describe, expect, it } from "vitest";
import { LANDS_WITHIN } from "../../../core/constants.ts";
import type { Home } from "../../../core/items.ts";
import { redrive } from "../../../protocol/change/redrive.ts";
import { listJobs } from "../../../protocol/read/list.ts";
import { consume } from "../../support/consume.ts";
import { type Call, callsOf, dead, key, liveHomes, meanwhile } from "../../support/scenes.ts";
import { breakAll, breakOnce, createWorld, HOUR, MINUTE, type World } from "../../support/world.ts";

/** Whether a call stores homes. */
const isStore = ({ operation, keys }: Call): boolean =>
  operation === "insert" && keys.every(({ pk, sk }) => !pk.startsWith("key#") && !sk.endsWith("#look"));

const placeholders = (world: World): Home[] =>
  world.pool.items().filter((item): item is Home => "isPlaceholder" in item);

/** Leaves what a call leaves that dies after it has written the key item, and before it stores the home. */
async function dieBetween(world: World): Promise<void> {
  breakOnce(world, "before", isStore);
  await expect(world.file({ key, delay: HOUR })).rejects.toThrow("crash");
  expect(liveHomes(world)).toEqual([]);
}

describe("a call that files a job under a key", () => {
  it("writes the key item, and then the home", async () => {
    const world = createWorld();
    const calls = await callsOf(world, () => world.file({ key, delay: HOUR }));
    const writes = calls.filter(({ operation }) => operation !== "read");
    expect(writes.map(({ operation, keys }) => [operation, keys.length])).toEqual([
      ["insert", 1],
      ["insert", 1],
    ]);
    expect(writes[0]?.keys[0]?.pk).toMatch(/^key#/);
  });

  it("leaves the key to the next call if it dies between the two writes", async () => {
    const world = createWorld();
    await dieBetween(world);
    const { id } = await world.file({ key, delay: HOUR });
    expect(liveHomes(world)).toMatchObject([{ id, key }]);
    expect(placeholders(world)).toMatchObject([{ state: "cancelled" }]);
  });

  it("leaves no trace in lists if it dies between the two writes", async () => {
    const world = createWorld();
    await dieBetween(world);
    const { id } = await world.file({ key, delay: HOUR });
    const range = { from: world.now(), to: world.now() + 2 * HOUR, limit: 100 };
    expect((await listJobs(world.ctx, range)).homes).toMatchObject([{ id }]);
  });

  it("stores no job if another call has taken the key in the meantime, however late its write lands", async () => {
    const world = createWorld();
    let other: Home | undefined;
    meanwhile(world, isStore, async () => {
      other = await world.file({ key, delay: HOUR });
    });
    const refusal = await world.file({ key, delay: 2 * HOUR }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "job-already-exists", data: { id: other?.id } });
    expect(liveHomes(world)).toMatchObject([{ id: other?.id }]);
  });

  it("stores its job if another call reads the key between the two writes", async () => {
    const world = createWorld();
    const read = Promise.withResolvers<void>();
    let other: Promise<unknown> | undefined;
    meanwhile(world, isStore, async () => {
      let reads = 0;
      world.pool.hooks.before = ({ operation }) => {
        if (operation === "read" && ++reads === 4) read.resolve();
      };
      other = world.file({ key, delay: HOUR }).catch((error: unknown) => error);
      await read.promise;
    });
    const { id } = await world.file({ key, delay: HOUR });
    expect(await other).toMatchObject({ code: "job-already-exists", data: { id } });
    expect(liveHomes(world)).toMatchObject([{ id }]);
    expect(placeholders(world)).toEqual([]);
  });

  it.each(["insert", "change"])(
    "files one job if the answer to its %s of the key item is lost",
    async (operation) => {
      const world = createWorld();
      if (operation === "change") {
        await world.file({ key });
        await consume(world, "orders");
      }
      breakOnce(
        world,
        "after",
        (call) => call.operation === operation && call.keys[0]?.pk.startsWith("key#") === true,
      );
      await world.file({ key, delay: HOUR }).catch(() => world.file({ key, delay: HOUR }));
      expect(liveHomes(world)).toHaveLength(1);
    },
  );

  it("needs no placeholder if the first call cannot store its job any more", async () => {
    const world = createWorld();
    await dieBetween(world);
    await world.pass(LANDS_WITHIN);
    const { id } = await world.file({ key, delay: HOUR });
    expect(liveHomes(world)).toMatchObject([{ id }]);
    expect(placeholders(world)).toEqual([]);
  });

  it("leaves a key item that the audit releases, if the call that takes the key dies too", async () => {
    const world = createWorld();
    await dieBetween(world);
    const end = breakAll(
      world,
      "before",
      ({ operation, keys }) => operation === "change" && keys[0]?.pk.startsWith("key#") === true,
    );
    await expect(world.file({ key, delay: HOUR })).rejects.toThrow("crash");
    end();
    await world.pass(HOUR + 30 * MINUTE);
    const [item] = world.pool.items().filter(({ pk }) => pk.startsWith("key#"));
    expect(item).toHaveProperty("expiresAt");
  });
});

describe("a redrive of a job whose key names a job that was never stored", () => {
  async function deadBehindUnstored(world: World): Promise<Home> {
    const job = await dead(world, { key });
    // The key of a dead job is taken in one transaction. A later call then dies between its two writes.
    await world.file({ key });
    await consume(world, "orders");
    await dieBetween(world);
    return job;
  }
  const run = (world: World) => redrive(world.ctx, "orders", { max: 10, delay: HOUR });

  it("leaves the job dead while the other job may still be stored", async () => {
    const world = createWorld();
    await deadBehindUnstored(world);
    expect(await run(world)).toMatchObject({ redriven: 0 });
  });

  it("takes the key when the other job cannot be stored any more", async () => {
    const world = createWorld();
    const { id } = await deadBehindUnstored(world);
    await world.pass(LANDS_WITHIN);
    expect(await run(world)).toMatchObject({ redriven: 1 });
    expect(liveHomes(world)).toMatchObject([{ id }]);
    await expect(world.file({ key })).rejects.toMatchObject({ code: "job-already-exists", data: { id } });
  });
});
