import { describe, expect, it } from "vitest";
import type { KeyItem } from "../../../src/core/items.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { consume } from "../../support/consume.ts";
import {
  type Call,
  dead,
  fail,
  isAt,
  isLook,
  key,
  liveHomes,
  liveOrRunning,
  meanwhile,
} from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, type World } from "../../support/world.ts";

describe("keys", () => {
  const keyItem = (world: World): KeyItem | undefined =>
    world.pool.items().find((item): item is KeyItem => item.pk.startsWith("key#"));

  it("a key taken while its dead job is redriven has one live job", async () => {
    const world = createWorld();
    const { id } = await dead(world, { key });
    meanwhile(
      world,
      ({ operation }) => operation === "transact",
      () => redrive(world.ctx, "orders", { max: 1, delay: HOUR }),
    );
    await expect(world.file({ key, delay: HOUR })).rejects.toMatchObject({ code: "job-already-exists" });
    expect(liveHomes(world)).toMatchObject([{ id }]);
  });

  it("a redrive while its key is taken leaves the job dead", async () => {
    const world = createWorld();
    await dead(world, { key });
    meanwhile(world, isLook, () => world.file({ key, delay: HOUR }));
    expect(await redrive(world.ctx, "orders", { max: 1, delay: HOUR })).toMatchObject({ redriven: 0 });
    expect(liveHomes(world)).toHaveLength(1);
  });

  it("a freed key goes to one of two callers that take it at once", async () => {
    const world = createWorld();
    await world.file({ key });
    await consume(world, "orders");
    meanwhile(world, isAt("key#", "transact"), () => world.file({ key, delay: HOUR }));
    await expect(world.file({ key, delay: HOUR })).rejects.toMatchObject({ code: "job-already-exists" });
    expect(liveHomes(world)).toHaveLength(1);
  });

  it("a settle releases only the key of its own job", async () => {
    const world = createWorld();
    await world.file({ key });
    meanwhile(world, isAt("key#", "change"), () => world.file({ key, delay: HOUR }));
    await consume(world, "orders");
    expect(keyItem(world)).toMatchObject({ id: liveHomes(world)[0]?.id });
    expect(keyItem(world)).not.toHaveProperty("expiresAt");
  });

  it("a death does not release the key of a job that was redriven in the meantime", async () => {
    const world = createWorld();
    await world.file({ key, maxAttempts: 1 });
    const isRelease = ({ operation, keys }: Call) =>
      operation === "transact" && isAt("key#")({ operation, keys });
    let redriven = 0;
    world.pool.hooks.before = async (call) => {
      // The redrive also writes key and home in one transaction. It is not the release of the key.
      if (!isRelease(call) || liveOrRunning(world).length > 0) return;
      delete world.pool.hooks.before;
      redriven = (await redrive(world.ctx, "orders", { max: 1, delay: HOUR })).redriven;
    };
    await consume(world, "orders", { run: fail });
    expect(redriven).toBe(1);
    expect(liveHomes(world)).toHaveLength(1);
    expect(keyItem(world)).not.toHaveProperty("expiresAt");
  });

  it("the audit releases a key if the process that ended its job died before it released the key", async () => {
    const world = createWorld();
    await world.file({ key, delay: 20 * MINUTE });
    const died = new Error("died");
    world.pool.hooks.before = ({ operation, keys }) => {
      if (operation === "change" && isAt("key#")({ operation, keys })) throw died;
    };
    await cancel(world.ctx, liveHomes(world)[0]?.id ?? "").catch(() => {});
    delete world.pool.hooks.before;
    expect(keyItem(world)).not.toHaveProperty("expiresAt");
    await world.pass(30 * MINUTE);
    expect(keyItem(world)).toHaveProperty("expiresAt");
  });

  it("a cancelled job and a dead job release their keys", async () => {
    const world = createWorld();
    await cancel(world.ctx, (await world.file({ key, delay: HOUR })).id);
    expect(keyItem(world)).toHaveProperty("expiresAt");
    await dead(world, { key });
    expect(keyItem(world)).toHaveProperty("expiresAt");
  });
});
