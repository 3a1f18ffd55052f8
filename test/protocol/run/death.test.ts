import { describe, expect, it } from "vitest";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import type { Queues } from "../../../src/protocol/ports.ts";
import { settlePulled } from "../../../src/protocol/run/settle-pulled.ts";
import { consume } from "../../support/consume.ts";
import { dead, dlq, fail, isAt, meanwhile, pull, pullOne } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND } from "../../support/world.ts";

describe("death", () => {
  it("a job is not dead before its envelope is in the DLQ", async () => {
    const world = createWorld();
    const job = await world.file({ maxAttempts: 1 });
    world.queues.trouble(dlq, "failing");
    await consume(world, "orders", { run: fail, timeout: 2000 });
    expect(await world.home(job.id)).toMatchObject({ state: "running" });
    world.queues.trouble(dlq, undefined);
    for (let i = 0; i < 5; i++) {
      await world.pass(MINUTE);
      await consume(world, "orders", { run: fail });
    }
    expect(await world.home(job.id)).toMatchObject({ state: "dead" });
    expect(world.queues.messages(dlq)).toHaveLength(1);
  });

  it("a job whose envelope SQS refuses is dead without a letter", async () => {
    const world = createWorld();
    const { queues } = world.ctx;
    const send: Queues["send"] = async (queue, messages) =>
      typeof queue === "object" && queue.dead === true
        ? messages.map(() => ({ outcome: "refused", reason: "InvalidMessageContents" }))
        : queues.send(queue, messages);
    Object.assign(world.ctx, { queues: { ...queues, send } });
    const job = await world.file({ maxAttempts: 1 });
    await consume(world, "orders", { run: fail });
    expect(await world.home(job.id)).toMatchObject({ state: "dead" });
    expect(world.queues.messages(dlq)).toEqual([]);
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
  });

  it("a dead letter stays while its home is not dead yet", async () => {
    const world = createWorld();
    const job = await world.file({ maxAttempts: 1 });
    meanwhile(world, isAt("dead#", "insert"), () => world.tick());
    await consume(world, "orders", { run: fail });
    expect(await world.home(job.id)).toMatchObject({ state: "dead" });
    expect(world.queues.messages(dlq)).toHaveLength(1);
  });

  it("a dead letter is deleted when its job was redriven, even before the job runs", async () => {
    const world = createWorld();
    await dead(world);
    await redrive(world.ctx, "orders", { max: 1, delay: HOUR });
    await world.tick();
    expect(world.queues.messages(dlq)).toEqual([]);
  });

  it("a dead letter is deleted when its job ended otherwise", async () => {
    const world = createWorld();
    const job = await world.file({ maxAttempts: 1 });
    world.pool.hooks.before = (call) => {
      if (isAt("dead#", "insert")(call)) throw new Error("crash");
    };
    await consume(world, "orders", { run: fail, timeout: 1000 });
    delete world.pool.hooks.before;
    expect(world.queues.messages(dlq).length).toBeGreaterThan(0);
    await world.pass(20 * SECOND, { ticks: false });
    await cancel(world.ctx, job.id);
    await world.tick();
    expect(world.queues.messages(dlq)).toEqual([]);
  });

  it("SQS's own redrive redrives a pulled job too", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work" });
    const { receipt } = await pullOne(world);
    await settlePulled(world.ctx, "work", receipt, { end: "buried", error: "x", verb: "bury" });
    world.queues.redriveNatively("work");
    const runs = [...(await pull(world)), ...(await pull(world))];
    expect(runs).toMatchObject([{ id, attempt: 1 }]);
  });
});
