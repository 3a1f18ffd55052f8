import { describe, expect, it } from "vitest";
import { cancel } from "../../src/protocol/change/cancel.ts";
import { reschedule } from "../../src/protocol/change/reschedule.ts";
import { consume } from "../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND } from "../support/world.ts";

describe("a job's way", () => {
  it("a near job is sent by its writer and runs when it is due, once", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 5 * SECOND });
    expect(await consume(world, "orders")).toEqual([]);
    await world.pass(5 * SECOND);
    expect(await consume(world, "orders")).toMatchObject([{ id: job.id, attempt: 1 }]);
    const done = await world.home(job.id);
    expect(done).toMatchObject({ state: "done", attempt: 1, finishedAt: world.now() });
    expect(done.expiresAt).toBe(world.now() / 1000 + world.ctx.policy.retention);
    await world.pass(2 * HOUR);
    expect(await consume(world, "orders")).toEqual([]);
  });

  it("a far job is left to the sweep, which sends it ahead of time", async () => {
    const world = createWorld();
    const job = await world.file({ delay: HOUR });
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
    await world.pass(57 * MINUTE);
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
    await world.pass(MINUTE);
    expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
    expect(world.visible("orders")).toEqual([]);
    await world.pass(2 * MINUTE);
    expect(world.visible("orders")).toEqual([{ id: job.id, revision: 0, attempt: 1 }]);
  });

  it("a job due exactly at the sweep's limit waits for the next sweep", async () => {
    const world = createWorld();
    await world.tick();
    await world.file({ delay: 13 * MINUTE });
    await world.pass(10 * MINUTE);
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
    await world.pass(MINUTE);
    expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
  });

  it("a cancelled job never runs, even when its message already waits in SQS", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 30 * SECOND });
    expect(await cancel(world.ctx, job.id)).toMatchObject({ state: "cancelled" });
    expect(await cancel(world.ctx, job.id)).toMatchObject({ state: "cancelled" });
    await world.pass(MINUTE);
    expect(await consume(world, "orders")).toEqual([]);
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
    expect(world.events).toContainEqual({ type: "dropped", topic: "orders", id: job.id, reason: "finished" });
  });

  it("a job moved later runs then and not before", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 30 * SECOND });
    await reschedule(world.ctx, job.id, { dueAt: world.now() + 20 * MINUTE });
    await world.pass(MINUTE);
    expect(await consume(world, "orders")).toEqual([]);
    await world.pass(19 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id: job.id, revision: 1, attempt: 1 }]);
  });

  it("a job moved earlier runs then and not again", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 2 * HOUR });
    await reschedule(world.ctx, job.id, { dueAt: world.now() + 10 * SECOND });
    await world.pass(10 * SECOND);
    expect(await consume(world, "orders")).toMatchObject([{ id: job.id, revision: 1 }]);
    await world.pass(3 * HOUR);
    expect(await consume(world, "orders")).toEqual([]);
  });

  it("a new body alone keeps the due time and voids the old message", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 30 * SECOND, body: '"old"' });
    const moved = await reschedule(world.ctx, job.id, { body: '"new"' });
    expect(moved).toMatchObject({ dueAt: job.dueAt, revision: 1, body: '"new"' });
    await world.pass(30 * SECOND);
    const bodies: unknown[] = [];
    await consume(world, "orders", {
      run: ({ body }) => {
        bodies.push(body);
        return { end: "done" };
      },
    });
    expect(bodies).toEqual(["new"]);
  });

  it("neither a running job nor a finished job can be cancelled or moved", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 0 });
    await consume(world, "orders", {
      run: async () => {
        await expect(cancel(world.ctx, job.id)).rejects.toMatchObject({ code: "job-running" });
        await expect(reschedule(world.ctx, job.id, { body: "1" })).rejects.toMatchObject({
          code: "job-running",
        });
        return { end: "done" };
      },
    });
    await expect(cancel(world.ctx, job.id)).rejects.toMatchObject({ code: "job-finished" });
    await expect(reschedule(world.ctx, job.id, { body: "1" })).rejects.toMatchObject({
      code: "job-finished",
    });
  });

  it("a due time in the past becomes now", async () => {
    const world = createWorld();
    const job = await world.file({ delay: -40 * HOUR });
    expect(job.dueAt).toBe(world.now());
    expect(await consume(world, "orders")).toHaveLength(1);
  });

  it("jobs of one second share a message, jobs of different groups do not", async () => {
    const world = createWorld();
    for (const group of ["a", "a", "b", "b"]) await world.file({ delay: HOUR, group });
    await world.pass(58 * MINUTE);
    const messages = world.queues.messages({ topic: "orders" });
    // Each of two shards is swept separately, so a group may come in two messages.
    expect(messages.map(({ group }) => group).sort()).toEqual(expect.arrayContaining(["a", "b"]));
    for (const { body, group } of messages)
      expect([body.includes("jobs"), group]).toEqual([true, expect.any(String)]);
    await world.pass(2 * MINUTE);
    expect(await consume(world, "orders")).toHaveLength(4);
  });

  it("a millisecond topic's message is released early and its job held until it is due", async () => {
    const world = createWorld();
    const job = await world.file({ topic: "precise", delay: 5_400 });
    await world.pass(5 * SECOND);
    expect(await consume(world, "precise")).toMatchObject([{ id: job.id, at: job.dueAt }]);
  });

  it("a message that comes too early is put back, and nothing runs", async () => {
    const world = createWorld();
    await world.file({ delay: 100 * SECOND });
    const [message] = world.queues.messages({ topic: "orders" });
    world.queues.duplicate({ topic: "orders" }, message?.id ?? "");
    await world.queues.send({ topic: "orders" }, [{ body: message?.body ?? "", delaySeconds: 0 }]);
    expect(await consume(world, "orders")).toEqual([]);
    await world.pass(100 * SECOND);
    expect(await consume(world, "orders")).toMatchObject([{ at: world.now() }]);
  });

  it("a job that is later than its expiresAfter allows expires and is not run", async () => {
    const world = createWorld();
    const job = await world.file({ delay: SECOND, expiresAfter: MINUTE });
    await world.pass(2 * MINUTE);
    expect(await consume(world, "orders")).toEqual([]);
    expect(await world.home(job.id)).toMatchObject({ state: "expired" });
  });

  it("retries wait by the topic's list of waits, then the job is dead", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 0 });
    const run = (): { end: "failed"; error: string } => ({ end: "failed", error: "no" });
    await consume(world, "orders", { run });
    expect(await world.home(job.id)).toMatchObject({
      state: "scheduled",
      attempt: 1,
      dueAt: world.now() + 15_000,
    });
    await world.pass(15 * SECOND);
    await consume(world, "orders", { run });
    expect(await world.home(job.id)).toMatchObject({
      attempt: 2,
      dueAt: world.now() + 180_000,
      lastError: "no",
    });
    await world.pass(180 * SECOND);
    expect(await consume(world, "orders", { run })).toMatchObject([{ attempt: 3 }]);
    expect(await world.home(job.id)).toMatchObject({ state: "dead", attempt: 3, lastError: "no" });
    expect(world.queues.messages({ topic: "orders", dead: true })).toHaveLength(1);
  });

  it("retryIn counts no attempt", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 0 });
    for (let i = 0; i < 5; i++) {
      const runs = await consume(world, "orders", { run: () => ({ end: "retry-in", wait: 10 * MINUTE }) });
      expect(runs).toMatchObject([{ attempt: 1 }]);
      await world.pass(10 * MINUTE);
    }
    expect(await consume(world, "orders")).toHaveLength(1);
    expect(await world.home(job.id)).toMatchObject({ state: "done", attempt: 1 });
  });
});
