import { describe, expect, it } from "vitest";
import { CLOCK_MARGIN } from "../../../src/core/constants.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { claim } from "../../../src/protocol/run/claim.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import { messageFor, orders, pull } from "../../support/scenes.ts";
import { createWorld, MINUTE, SECOND } from "../../support/world.ts";

describe("claims", () => {
  it("a claim whose answer was lost finds its own token, and runs", async () => {
    const world = createWorld();
    const job = await world.file({});
    const original = world.pool.changeMany;
    world.pool.changeMany = async (changes, by) => {
      await original.call(world.pool, changes, by);
      return original.call(world.pool, changes, by);
    };
    const { rest } = await claim(world.ctx, "orders", [messageFor(job)], world.now() + 30_000);
    expect(await rest).toMatchObject([{ verdict: "claimed" }]);
  });

  it("no pulled job is handed out when its claim took longer than its lease", async () => {
    const world = createWorld();
    await world.file({ topic: "work" });
    world.pool.hooks.after = async ({ operation }) => {
      if (operation === "changeMany") await world.pass(31 * SECOND, { ticks: false });
    };
    expect(await pull(world)).toEqual([]);
  });

  it("a message that meets a live lease stays hidden until the margin past its end", async () => {
    const world = createWorld();
    for (const topic of ["orders", "work"]) {
      const { id } = await world.file({ topic });
      if (topic === "orders") await crashWhileRunning(world, topic, 10_000);
      else await pull(world);
      const { leaseEnd = 0 } = await world.home(id);
      const [message] = world.queues.messages({ topic });
      world.queues.duplicate({ topic }, message?.id ?? "");
      if (topic === "orders") await consume(world, topic);
      else await pull(world);
      expect(world.queues.messages({ topic })).toMatchObject([{ visibleAt: leaseEnd + CLOCK_MARGIN }]);
    }
  });

  it("a job whose text SQS refuses, and that crashes after a stale message ran it, still ends", async () => {
    const world = createWorld();
    await world.tick();
    const postponed = { key: "a", onDuplicate: "postpone", delay: 0, maxDelay: 1, maxAttempts: 2 } as const;
    const job = await world.file(postponed);
    await world.pass(SECOND);
    await world.fileAll({ ...postponed, body: '"\ufffe"' });
    expect(await crashWhileRunning(world, "orders")).toMatchObject([{ id: job.id, revision: 1 }]);
    for (let i = 0; i < 60; i++) {
      await world.pass(MINUTE);
      await consume(world, "orders");
    }
    expect(await world.home(job.id)).toMatchObject({ state: "dead" });
  });

  it("of two messages of a job in one receive the newer one counts", async () => {
    const world = createWorld();
    const job = await world.file({ topic: "work" });
    await reschedule(world.ctx, job.id, { body: '"new"' });
    expect(await pull(world)).toMatchObject([{ id: job.id, body: "new" }]);
  });

  it("jobs of one message are each held until their own due time", async () => {
    const world = createWorld();
    const due = [5_400, 5_700, 5_900].map((ms) => world.now() + ms);
    await enqueueMany(
      world.ctx,
      due.map((dueAt) => ({ topic: "precise", body: "{}", dueAt })),
    );
    expect(world.queues.messages({ topic: "precise" })).toHaveLength(1);
    await world.pass(5 * SECOND);
    expect((await consume(world, "precise")).map(({ at }) => at)).toEqual(due);
  });

  it("a message that comes much too early is hidden again, and not held", async () => {
    const world = createWorld();
    for (const topic of ["orders", "work"]) {
      await world.file({ topic, delay: 20 * SECOND });
      const [message] = world.queues.messages({ topic });
      world.queues.duplicate({ topic }, message?.id ?? "");
      const before = world.now();
      expect(topic === "orders" ? await consume(world, topic) : await pull(world)).toEqual([]);
      expect(world.now()).toBe(before);
    }
  });

  it("a job that cannot start before the deadline is sent in a new message, or its old message stays", async () => {
    for (const broken of [false, true]) {
      const world = createWorld();
      const job = await world.file({});
      if (broken) {
        world.queues.hooks.before = ({ operation }) => {
          if (operation === "send") throw new Error("down");
        };
      }
      expect(await consume(world, "orders", { timeout: 0 })).toEqual([]);
      delete world.queues.hooks.before;
      await world.pass(30 * SECOND, { ticks: false });
      expect(await consume(world, "orders")).toMatchObject([{ id: job.id }]);
    }
  });

  it("a message that Minutehand did not send stays", async () => {
    const world = createWorld();
    await world.queues.send(orders, [{ body: '{"v":2}', delaySeconds: 0 }]);
    await consume(world, "orders");
    expect(world.queues.messages(orders)).toHaveLength(1);
  });
});
