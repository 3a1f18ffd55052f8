import { describe, expect, it } from "vitest";
import { AUDIT_AFTER, CLOCK_MARGIN, LOOKAHEAD, NEAR, WRITER_DEADLINE } from "../../src/core/constants.ts";
import { cancel, cancelMany } from "../../src/protocol/change/cancel.ts";
import { redrive } from "../../src/protocol/change/redrive.ts";
import { reschedule } from "../../src/protocol/change/reschedule.ts";
import type { Change } from "../../src/protocol/ports.ts";
import { consume } from "../support/consume.ts";
import {
  type Call,
  callsOf,
  dead,
  fail,
  isLook,
  key,
  liveHomes,
  meanwhile,
  orders,
} from "../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND } from "../support/world.ts";

describe("slow writers", () => {
  it("the constants are such that no write can take effect after the audit has passed", () => {
    expect(WRITER_DEADLINE + 5 * MINUTE + CLOCK_MARGIN).toBeLessThan(AUDIT_AFTER - LOOKAHEAD);
  });

  it("an enqueue slower than its deadline gives up, plain, keyed or with a token", async () => {
    for (const more of [{}, { key }, { once: { token: "t", hash: "h" } }]) {
      const world = createWorld();
      const isWrite = ({ operation }: Call) => operation === "insert" || operation === "transact";
      meanwhile(world, isWrite, () => world.pass(WRITER_DEADLINE, { ticks: false }));
      await expect(world.file({ delay: HOUR, ...more })).rejects.toMatchObject({ code: "unavailable" });
      expect(liveHomes(world)).toEqual([]);
    }
  });

  it("a cancel that lands after a later reschedule leaves the job alone", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR });
    const original = world.pool.change;
    const stuck: Change[] = [];
    world.pool.change = async (change) => {
      stuck.push(change);
      throw new Error("no answer");
    };
    await expect(cancel(world.ctx, id)).rejects.toThrow("no answer");
    world.pool.change = original;
    await reschedule(world.ctx, id, { dueAt: world.now() + 2 * HOUR });
    for (const change of stuck) await world.pool.change(change, world.now() + MINUTE);
    expect(await world.home(id)).toMatchObject({ state: "scheduled", revision: 1 });
  });

  it("a cancel of a job as it was filed takes one call, of a moved one three", async () => {
    const world = createWorld();
    const [filed, moved] = [await world.file({ delay: HOUR }), await world.file({ delay: HOUR })];
    await reschedule(world.ctx, moved.id, { dueAt: world.now() + 2 * HOUR });
    expect(await callsOf(world, () => cancel(world.ctx, filed.id))).toHaveLength(1);
    expect(await callsOf(world, () => cancel(world.ctx, moved.id))).toHaveLength(3);
    expect(await world.home(moved.id)).toMatchObject({ state: "cancelled" });
  });

  it("a writer reads the clock after its write, because the sweep may have passed in the meantime", async () => {
    for (const more of [{}, { key }, { once: { token: "t", hash: "h" } }]) {
      const world = createWorld();
      await world.tick();
      const isWrite = ({ operation }: Call) => operation === "insert" || operation === "transact";
      meanwhile(world, isWrite, () => world.pass(50 * SECOND, { ticks: false }).then(world.tick));
      await world.file({ delay: 215 * SECOND, ...more });
      expect(world.queues.messages(orders)).toHaveLength(1);
    }
  });

  it("a mover reads the clock after its write", async () => {
    const world = createWorld();
    await world.tick();
    const job = await world.file({ delay: HOUR });
    meanwhile(world, isLook, () => world.pass(50 * SECOND, { ticks: false }).then(world.tick));
    await reschedule(world.ctx, job.id, { dueAt: world.now() + 215 * SECOND });
    expect(world.queues.messages(orders)).toHaveLength(1);
  });

  it("a move into the past is a move to now, also for its look", async () => {
    const world = createWorld();
    await world.tick();
    const job = await world.file({ delay: HOUR });
    expect(await reschedule(world.ctx, job.id, { dueAt: world.now() - 40 * HOUR })).toMatchObject({
      dueAt: world.now(),
    });
    world.queues.purge(orders);
    for (let i = 0; i < 20 && world.visible("orders").length === 0; i++) await world.pass(MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id: job.id, revision: 1 }]);
  });

  it("two movers at once make two revisions", async () => {
    const world = createWorld();
    const job = await world.file({ delay: HOUR });
    meanwhile(world, isLook, () => reschedule(world.ctx, job.id, { body: "1" }));
    expect(await reschedule(world.ctx, job.id, { body: "2" })).toMatchObject({ revision: 2, body: "2" });
  });

  it("a cancel of many jobs, during a move of one, answers the job as it was cancelled", async () => {
    const world = createWorld();
    const job = await world.file({ delay: HOUR });
    meanwhile(
      world,
      ({ operation }) => operation === "changeMany",
      () => reschedule(world.ctx, job.id, { body: "1" }),
    );
    expect(await cancelMany(world.ctx, [job.id])).toMatchObject([{ state: "cancelled", revision: 1 }]);
    expect(await world.home(job.id)).toMatchObject({ state: "cancelled", body: "1" });
  });

  it("a look outlives an outage of weeks, because TTL deletes looks only long after their time", async () => {
    const world = createWorld();
    await world.tick();
    const job = await world.file({ delay: HOUR });
    await reschedule(world.ctx, job.id, { dueAt: world.now() + 2 * HOUR });
    // Sweep and audit pass the home's own time, so only the look can lead to the job.
    await world.pass(80 * MINUTE);
    await world.pass(30 * 24 * HOUR, { ticks: false });
    const gone = world.pool
      .items()
      .filter((item) => "expiresAt" in item && Number(item.expiresAt) * 1000 <= world.now());
    await world.pool.remove(gone, Number.POSITIVE_INFINITY);
    await world.tick();
    expect(await consume(world, "orders")).toMatchObject([{ id: job.id, revision: 1 }]);
  });

  it("a move leaves nothing of the last claim, nor a time for TTL", async () => {
    const world = createWorld();
    const { id } = await dead(world);
    expect(await world.home(id)).toHaveProperty("expiresAt");
    await redrive(world.ctx, "orders", { max: 1, delay: HOUR });
    for (const name of ["expiresAt", "token", "leaseEnd", "finishedAt"])
      expect(await world.home(id)).not.toHaveProperty(name);
  });

  it("a reschedule and a replace begin with a full set of attempts", async () => {
    const world = createWorld();
    const job = await world.file({ key });
    await consume(world, "orders", { run: fail });
    expect(await world.home(job.id)).toMatchObject({ attempt: 1 });
    expect(await reschedule(world.ctx, job.id, { dueAt: world.now() })).toMatchObject({ attempt: 0 });
    await consume(world, "orders", { run: fail });
    expect((await world.fileAll({ key, onDuplicate: "replace" })).home).toMatchObject({ attempt: 0 });
  });

  it("expiresAfter counts from the due time that a user last set", async () => {
    const world = createWorld();
    const job = await world.file({ delay: SECOND, expiresAfter: MINUTE });
    await reschedule(world.ctx, job.id, { dueAt: world.now() + 10 * MINUTE });
    await world.pass(2 * MINUTE);
    // The old message, which says an earlier expiry, is void.
    expect(await consume(world, "orders")).toEqual([]);
    expect(await world.home(job.id)).toMatchObject({ state: "scheduled" });
    await world.pass(8 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id: job.id }]);
  });

  it.each([0, 100, 1_500, 5_000, 14_000])(
    "an untracked job runs once even if it became due soon while its write took %i ms",
    async (slow) => {
      const world = createWorld({ topics: { loose: { tracking: "none" } } });
      await world.pass(MINUTE + SECOND);
      world.pool.hooks.before = async ({ operation }) => {
        if (operation !== "insert") return;
        delete world.pool.hooks.before;
        // In the meantime ticks sweep, but the job is not written yet.
        await world.pass(slow);
      };
      const job = await world.file({ topic: "loose", delay: NEAR + slow / 2 + 50 });
      const runs: string[] = [];
      for (let i = 0; i < 8; i++) {
        await world.pass(MINUTE);
        // One message for each receive, because of two messages in one batch only one would run.
        for (let j = 0; j < 3; j++)
          runs.push(...(await consume(world, "loose", { max: 1 })).map(({ id }) => id));
      }
      expect(runs).toEqual([job.id]);
    },
  );
});
