import { describe, expect, it } from "vitest";
import { MinutehandError } from "../../src/core/errors.ts";
import { cancel, cancelMany } from "../../src/protocol/change/cancel.ts";
import { redrive } from "../../src/protocol/change/redrive.ts";
import { claim } from "../../src/protocol/run/claim.ts";
import { extend, settlePulled } from "../../src/protocol/run/settle-pulled.ts";
import type { PoolCall } from "../../src/testing/memory-pool.ts";
import { consume, crashWhileRunning } from "../support/consume.ts";
import { isLook, pull } from "../support/scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, type World } from "../support/world.ts";

const key = "order-1";
const once = { token: "t", hash: "h" };
const bulk = { topics: { orders: { maxAttempts: 3 }, bulk: { tracking: "none" } } } as const;

const isKeyItem = ({ keys }: { keys: readonly { pk: string }[] }): boolean =>
  keys.some(({ pk }) => pk.startsWith("key#"));

const messageOf = (job: { id: string; dueAt: number; revision?: number }) => ({
  id: job.id,
  revision: job.revision ?? 0,
  attempt: 1,
  dueAt: new Date(job.dueAt).toISOString(),
  body: {},
});

/** DynamoDB does not answer the first pool call that `matches` until the call's deadline. */
function refuseOnce(world: World, matches: (call: PoolCall) => boolean): void {
  world.pool.hooks.before = (call) => {
    if (!matches(call)) return;
    delete world.pool.hooks.before;
    throw new MinutehandError("unavailable", "DynamoDB did not answer");
  };
}

/** Cases in which the trouble of one job could affect other jobs of its batch, or a repeat could report a change that was not made. */
describe("repeated and late calls", () => {
  it("a stored untracked job is sent even if its write takes effect after the sweep has passed", async () => {
    const world = createWorld();
    await world.tick();
    world.pool.hooks.before = async ({ operation }) => {
      if (operation !== "insert") return;
      delete world.pool.hooks.before;
      await world.pass(50 * SECOND, { ticks: false });
      await world.tick();
    };
    const job = await world.file({ topic: "events", delay: 215 * SECOND });
    await world.pass(2 * HOUR);
    expect(world.visible("events").map(({ id }) => id)).toContain(job.id);
  });

  it("a stored untracked job with an Idempotency-Key is sent even if its write takes effect after the sweep has passed", async () => {
    const world = createWorld();
    await world.tick();
    world.pool.hooks.before = async ({ operation }) => {
      if (operation !== "transact") return;
      delete world.pool.hooks.before;
      await world.pass(50 * SECOND, { ticks: false });
      await world.tick();
    };
    const job = await world.file({ topic: "events", delay: 215 * SECOND, once });
    await world.pass(2 * HOUR);
    expect(world.visible("events").map(({ id }) => id)).toContain(job.id);
  });

  it("an untracked job may wait longer for its retry than SQS can hide a message, without delaying others", async () => {
    const world = createWorld(bulk);
    const slow = await world.file({ topic: "bulk" });
    await consume(world, "bulk", { run: () => ({ end: "retry-in", wait: 20 * HOUR }) });
    await world.pass(15 * MINUTE);
    const other = await world.file({ topic: "bulk" });
    expect((await consume(world, "bulk")).map(({ id }) => id)).toEqual([other.id]);
    const ran: string[] = [];
    for (let i = 0; i < 25; i++) {
      await world.pass(HOUR);
      ran.push(...(await consume(world, "bulk")).map(({ id }) => id));
    }
    expect(ran).toEqual([slow.id]);
  });

  it("a refused replace is not answered as done when it is repeated with its Idempotency-Key", async () => {
    const world = createWorld();
    await world.file({ key, body: '"old"' });
    await crashWhileRunning(world, "orders");
    const replace = { key, body: '"new"', onDuplicate: "replace", once } as const;
    await expect(world.fileAll(replace)).rejects.toMatchObject({ code: "job-running" });
    await world.pass(46 * SECOND, { ticks: false });
    expect((await world.fileAll(replace)).home.body).toBe('"new"');
  });

  it("a replace that died half-way is finished by its repeat with the same Idempotency-Key", async () => {
    const world = createWorld();
    await world.file({ key, body: '"old"', delay: HOUR });
    const replace = { key, body: '"new"', delay: MINUTE, onDuplicate: "replace", once } as const;
    breakOnce(world, "before", ({ keys }) => keys.some(({ sk }) => sk.endsWith("#look")));
    await expect(world.fileAll(replace)).rejects.toThrow();
    expect((await world.fileAll(replace)).home.body).toBe('"new"');
  });

  it("a replace that its repeat has overtaken answers what the repeat did", async () => {
    const world = createWorld();
    await world.file({ key, body: '"old"', delay: HOUR });
    const replace = { key, body: '"new"', delay: MINUTE, onDuplicate: "replace", once } as const;
    let transactions = 0;
    world.pool.hooks.before = async ({ operation }) => {
      if (operation !== "transact" || ++transactions > 1) return;
      await world.pass(SECOND, { ticks: false });
      await world.fileAll(replace);
    };
    expect(await world.fileAll(replace)).toMatchObject({ outcome: "replayed", home: { revision: 1 } });
    // One by the first call, and one by the repeat.
    expect(transactions).toBe(2);
  });

  it("a repeated replace to a time long past is answered by its Idempotency-Key", async () => {
    const world = createWorld();
    await world.file({ key, delay: HOUR });
    const replace = { key, dueAt: world.now() - 40 * HOUR, onDuplicate: "replace", once } as const;
    await world.fileAll(replace);
    expect(await world.fileAll(replace)).toMatchObject({ outcome: "replayed", home: { revision: 1 } });
  });

  it("a repeat of a retry by its receipt sends the job if the first call died before it sent it", async () => {
    const world = createWorld();
    await world.tick();
    const { id } = await world.file({ topic: "work" });
    const [job] = await pull(world);
    const ending = { end: "failed", error: "busy", retryAfter: 5 * SECOND, verb: "retry" } as const;
    breakOnce(world, "after", ({ operation }) => operation === "change");
    await expect(settlePulled(world.ctx, "work", job?.receipt ?? "", ending)).rejects.toThrow();
    await settlePulled(world.ctx, "work", job?.receipt ?? "", ending);
    await world.pass(2 * MINUTE);
    expect(await pull(world)).toMatchObject([{ id, attempt: 2 }]);
  });

  it("claimed jobs are handed out even if a void message could not be deleted", async () => {
    const world = createWorld();
    const gone = await world.file({ topic: "work" });
    const live = await world.file({ topic: "work" });
    await cancel(world.ctx, gone.id);
    world.queues.hooks.before = ({ operation }) => {
      if (operation === "remove") throw new MinutehandError("unavailable", "SQS failed 1 receipts");
    };
    expect((await pull(world)).map(({ id }) => id)).toEqual([live.id]);
  });

  it("a key of an expired job that cannot be released does not keep other jobs of its pack from running", async () => {
    const world = createWorld();
    await world.file({ key, expiresAfter: SECOND });
    const mate = await world.file({});
    await world.pass(2 * SECOND);
    refuseOnce(world, isKeyItem);
    expect((await consume(world, "orders")).map(({ id }) => id)).toEqual([mate.id]);
  });

  it("a key of one cancelled job that cannot be released does not change the answers for the others", async () => {
    const world = createWorld();
    const jobs = [await world.file({ key, delay: HOUR }), await world.file({ delay: HOUR })];
    refuseOnce(world, isKeyItem);
    const results = await cancelMany(
      world.ctx,
      jobs.map(({ id }) => id),
    );
    expect(results).toMatchObject([{ state: "cancelled" }, { state: "cancelled" }]);
  });

  it("a look for one cancelled job's key that cannot be filed does not change the answers for the others", async () => {
    const world = createWorld();
    const jobs = [await world.file({ key, delay: HOUR }), await world.file({ delay: HOUR })];
    refuseOnce(world, isLook);
    const results = await cancelMany(
      world.ctx,
      jobs.map(({ id }) => id),
    );
    expect(results).toMatchObject([{ state: "cancelled" }, { state: "cancelled" }]);
    expect(world.events).toContainEqual(expect.objectContaining({ type: "trouble" }));
  });

  it("a claim whose answer was lost runs even if a crashed job of its pack cannot be settled", async () => {
    const world = createWorld();
    const crashed = await world.file({ maxAttempts: 1 });
    await crashWhileRunning(world, "orders");
    await world.pass(MINUTE);
    const fresh = await world.file({});
    world.queues.trouble({ topic: "orders", dead: true }, "failing");
    const original = world.pool.changeMany;
    world.pool.changeMany = async (changes, by) => {
      await original.call(world.pool, changes, by);
      if (changes.length > 0) world.pool.changeMany = original;
      return original.call(world.pool, changes, by);
    };
    const messages = [messageOf(crashed), messageOf(fresh)];
    expect(await (await claim(world.ctx, "orders", messages, world.now() + 30_000)).rest).toMatchObject([
      { verdict: "left" },
      { verdict: "claimed" },
    ]);
  });

  it("an Idempotency-Key that was answered with a kept job names it until a day after that job's due time", async () => {
    const world = createWorld();
    const kept = await world.file({ key, delay: 48 * HOUR });
    const again = { key, delay: MINUTE, onDuplicate: "keep", once } as const;
    await world.fileAll(again);
    await world.pass(48 * HOUR, { ticks: false });
    await world.tick();
    await consume(world, "orders");
    expect((await world.fileAll(again)).home.id).toBe(kept.id);
  });

  it("a request repeated while its first try is under way is answered with the job, not refused", async () => {
    const world = createWorld();
    const asked = { key, delay: HOUR, once } as const;
    let first: Promise<{ home: { id: string } }> | undefined;
    world.pool.hooks.before = async ({ operation, keys }) => {
      if (operation !== "read" || !isKeyItem({ keys }) || first) return;
      delete world.pool.hooks.before;
      first = world.fileAll(asked);
      await first;
    };
    const second = await world.fileAll(asked);
    expect(second.home.id).toBe((await first)?.home.id);
  });

  it("a job of another topic in a batch is run, not deleted unseen", async () => {
    const world = createWorld();
    const a = await world.file({});
    await world.pass(1);
    const b = await world.file({ topic: "precise" });
    await world.pass(1);
    const c = await world.file({});
    const [foreign] = world.queues.messages({ topic: "precise" });
    world.queues.purge({ topic: "precise" });
    await world.queues.send({ topic: "orders" }, [{ body: foreign?.body ?? "", delaySeconds: 0 }]);
    const ran = await consume(world, "orders");
    expect(ran.map(({ id }) => id).sort()).toEqual([a.id, b.id, c.id].sort());
  });

  it("two extends at once are both granted: the claim is not lost", async () => {
    const world = createWorld();
    await world.file({ topic: "work" });
    const [job] = await pull(world);
    const receipt = job?.receipt ?? "";
    const results = await Promise.allSettled([
      extend(world.ctx, "work", receipt, MINUTE),
      extend(world.ctx, "work", receipt, 2 * MINUTE),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  });

  it("a job given back before the deadline keeps its group", async () => {
    const world = createWorld();
    await world.file({ group: "tenant" });
    await consume(world, "orders", { timeout: 0 });
    expect(world.queues.messages({ topic: "orders" }).map(({ group }) => group)).toEqual(["tenant"]);
  });

  it("an early message that cannot be hidden does not keep others from running", async () => {
    const world = createWorld();
    await world.file({ delay: 100 * SECOND });
    const [early] = world.queues.messages({ topic: "orders" });
    world.queues.purge({ topic: "orders" });
    await world.queues.send({ topic: "orders" }, [{ body: early?.body ?? "", delaySeconds: 0 }]);
    const due = await world.file({});
    world.queues.hooks.before = ({ operation }) => {
      if (operation === "hide") throw new MinutehandError("unavailable", "SQS failed 1 receipts");
    };
    expect((await consume(world, "orders")).map(({ id }) => id)).toEqual([due.id]);
  });

  it("one job that cannot be redriven does not hide how many were", async () => {
    const world = createWorld();
    for (let i = 0; i < 2; i++) await world.file({ maxAttempts: 1 });
    await consume(world, "orders", { run: () => ({ end: "failed", error: "no" }) });
    await consume(world, "orders", { run: () => ({ end: "failed", error: "no" }) });
    refuseOnce(world, ({ operation }) => operation === "remove");
    expect(await redrive(world.ctx, "orders", { max: 10, delay: 0 })).toMatchObject({ redriven: 2 });
  });
});
