import { describe, expect, it } from "vitest";
import type { Home } from "../../../src/core/home.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { idOfKey } from "../../../src/protocol/store/read-job.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const key = "order-1";

describe("keys", () => {
  it("a second job of a live key is refused, with the id of the first", async () => {
    const world = createWorld();
    const first = await world.file({ key, delay: HOUR });
    await expect(world.file({ key })).rejects.toMatchObject({
      code: "job-already-exists",
      data: { id: first.id },
    });
    expect(homes(world)).toHaveLength(1);
  });

  it("keep answers the job that has the key", async () => {
    const world = createWorld();
    const first = await world.file({ key, delay: HOUR });
    const second = await world.fileAll({ key, delay: 2 * HOUR, onDuplicate: "keep" });
    expect(second).toMatchObject({ outcome: "kept", home: { id: first.id, dueAt: first.dueAt } });
  });

  it("keep of a near job sends it again, since its writer may have died before sending", async () => {
    const world = createWorld();
    await world.file({ key, delay: MINUTE });
    world.queues.purge({ topic: "orders" });
    await world.fileAll({ key, onDuplicate: "keep" });
    expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
  });

  it("replace gives the same job another body and time, and removes options that the new request does not have", async () => {
    const world = createWorld();
    const first = await world.file({ key, delay: HOUR, tag: "old", maxAttempts: 2 });
    const second = await world.fileAll({ key, delay: MINUTE, body: '"new"', onDuplicate: "replace" });
    expect(second).toMatchObject({ outcome: "replaced", home: { id: first.id, body: '"new"', revision: 1 } });
    expect(second.home).not.toHaveProperty("tag");
    expect(second.home).not.toHaveProperty("maxAttempts");
    await world.pass(MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id: first.id, revision: 1 }]);
  });

  it("replace of a running job is refused", async () => {
    const world = createWorld();
    await world.file({ key });
    await crashWhileRunning(world, "orders");
    await expect(world.fileAll({ key, onDuplicate: "replace" })).rejects.toMatchObject({
      code: "job-running",
    });
  });

  it("a finished job frees its key", async () => {
    const world = createWorld();
    const first = await world.file({ key });
    await consume(world, "orders");
    const second = await world.file({ key, delay: HOUR });
    expect(second.id).not.toBe(first.id);
    await cancel(world.ctx, second.id);
    const third = await world.file({ key, delay: HOUR });
    expect(await idOfKey(world.ctx, "orders", key)).toBe(third.id);
    expect(homes(world)).toHaveLength(3);
  });

  it("the key item of a finished job is deleted by TTL with the job, and that of a live job stays", async () => {
    const world = createWorld();
    await world.file({ key });
    const item = (): object | undefined => world.pool.items().find(({ pk }) => pk.startsWith("key#"));
    expect(item()).not.toHaveProperty("expiresAt");
    await consume(world, "orders");
    expect(item()).toHaveProperty("expiresAt");
    await world.file({ key, delay: HOUR });
    expect(item()).not.toHaveProperty("expiresAt");
  });

  it("many callers at once get one live job", async () => {
    const world = createWorld();
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => world.file({ key, delay: HOUR })),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(homes(world)).toHaveLength(1);
  });

  it("two jobs of a batch with one key are taken in order", async () => {
    const world = createWorld();
    const job = { topic: "orders", key, dueAt: world.now() + HOUR, onDuplicate: "replace" } as const;
    const results = await enqueueMany(world.ctx, [
      { ...job, body: "1" },
      { ...job, body: "2" },
    ]);
    expect(results).toMatchObject([{ outcome: "created" }, { outcome: "replaced" }]);
    expect(homes(world)).toMatchObject([{ body: "2" }]);
  });

  it("a redrive of a job whose key names another leaves it dead", async () => {
    const world = createWorld();
    const first = await world.file({ key, maxAttempts: 1 });
    await consume(world, "orders", { run: () => ({ end: "failed", error: "no" }) });
    const second = await world.file({ key, delay: HOUR });
    expect(await redrive(world.ctx, "orders", { max: 10, delay: 0 })).toEqual({ redriven: 0, left: 1 });
    expect(await world.home(first.id)).toMatchObject({ state: "dead" });
    await cancel(world.ctx, second.id);
    expect(await redrive(world.ctx, "orders", { max: 10, delay: 0 })).toEqual({ redriven: 0, left: 1 });
  });

  it("a redriven job has its key again", async () => {
    const world = createWorld();
    const first = await world.file({ key, maxAttempts: 1 });
    await consume(world, "orders", { run: () => ({ end: "failed", error: "no" }) });
    expect(await redrive(world.ctx, "orders", { max: 10, delay: HOUR })).toEqual({ redriven: 1, left: 0 });
    await expect(world.file({ key })).rejects.toMatchObject({ data: { id: first.id } });
  });
});

describe("Idempotency-Key", () => {
  const once = { token: "t", hash: "h" };

  it("the same request again answers the same job, even when it is done", async () => {
    const world = createWorld();
    const first = await world.file({ once });
    await consume(world, "orders");
    expect(await world.fileAll({ once })).toMatchObject({
      outcome: "replayed",
      home: { id: first.id, state: "done" },
    });
    expect(homes(world)).toHaveLength(1);
  });

  it("another request with the same token is refused", async () => {
    const world = createWorld();
    await world.file({ once });
    await expect(world.file({ once: { ...once, hash: "other" } })).rejects.toMatchObject({
      code: "idempotency-mismatch",
    });
  });

  it("a repeat after a crash before the send sends the job", async () => {
    const world = createWorld();
    world.queues.trouble("all", "unreachable");
    await world.file({ once, delay: SECOND });
    world.queues.trouble("all", undefined);
    await world.fileAll({ once, delay: SECOND });
    expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
  });

  it("with a key, many callers at once get one job", async () => {
    const world = createWorld();
    const results = await Promise.all(
      Array.from({ length: 6 }, () => world.fileAll({ once, key, delay: HOUR })),
    );
    expect(new Set(results.map(({ home }) => home.id)).size).toBe(1);
    expect(homes(world)).toHaveLength(1);
  });

  it("a day after the due time of a done job, its token can be used again", async () => {
    const world = createWorld();
    const first = await world.file({ once });
    await consume(world, "orders");
    await world.pass(25 * HOUR, { ticks: false });
    expect((await world.file({ once })).id).not.toBe(first.id);
  });
});

function homes(world: World): Home[] {
  return world.pool.items().filter((item): item is Home => "state" in item);
}
