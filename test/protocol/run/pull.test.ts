import { describe, expect, it } from "vitest";
import { homeKey } from "../../../src/core/item-keys.ts";
import { decodeReceipt } from "../../../src/core/receipt.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import type { Pool, Timers } from "../../../src/protocol/ports.ts";
import { receive } from "../../../src/protocol/run/pull.ts";
import { extend, settlePulled } from "../../../src/protocol/run/settle-pulled.ts";
import { pull, pullOne } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND } from "../../support/world.ts";

describe("pull", () => {
  it("a received job is leased, and finished by its receipt, also by a repeated call", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work", body: '{"n":1}' });
    const job = await pullOne(world);
    expect(job).toMatchObject({ id, attempt: 1, body: { n: 1 }, leaseUntil: world.now() + 30 * SECOND });
    expect(await pull(world)).toEqual([]);
    expect(await settlePulled(world.ctx, "work", job.receipt, { end: "done" })).toMatchObject({
      state: "done",
    });
    expect(await settlePulled(world.ctx, "work", job.receipt, { end: "done" })).toMatchObject({
      state: "done",
    });
    const retry = settlePulled(world.ctx, "work", job.receipt, { end: "failed", error: "", verb: "retry" });
    await expect(retry).rejects.toMatchObject({ code: "claim-lost" });
    expect(world.queues.messages({ topic: "work" })).toEqual([]);
  });

  it("a job whose lease ended while void messages were deleted waits again, and no attempt is counted", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work", maxAttempts: 1 });
    await world.file({ topic: "work" });
    const cancelled = await world.file({ topic: "work" });
    await cancel(world.ctx, cancelled.id);
    world.queues.hooks.before = async ({ operation }) => {
      if (operation === "remove") await world.pass(31 * SECOND, { ticks: false });
    };
    expect(await pull(world)).toEqual([]);
    delete world.queues.hooks.before;
    expect(await pull(world)).toHaveLength(2);
    expect(await world.home(id)).toMatchObject({ state: "running", attempt: 1 });
  });

  /** One call receives two jobs. `answer` lets it know of its claim of the second, after it has ended. */
  async function receiveTooSlowly() {
    const world = createWorld();
    const soon = await world.file({ topic: "work" });
    const late = await world.file({ topic: "work", maxAttempts: 1 });
    const answered = Promise.withResolvers<void>();
    const original = world.pool.changeMany;
    const pool: Pool = {
      ...world.pool,
      async changeMany(changes, by, known) {
        const outcomes = await original.call(world.pool, changes, by);
        known?.(changes.findIndex(({ key }) => key.sk === homeKey(soon.id).sk));
        await answered.promise;
        return outcomes;
      },
    };
    const timers: Timers = {
      ...world.timers,
      after(_, act) {
        setImmediate(act);
        return () => {};
      },
    };
    const asked = { max: 10, waitSeconds: 0 };
    expect(await receive({ ...world.ctx, pool }, "work", asked, timers)).toMatchObject([{ id: soon.id }]);
    expect(await world.home(late.id)).toMatchObject({ state: "running", attempt: 1 });
    return { world, late, answer: answered.resolve };
  }

  it("a job whose claim is known too late for the call is given back, and no attempt is counted", async () => {
    const { world, late, answer } = await receiveTooSlowly();
    answer();
    await expect.poll(() => world.home(late.id)).toMatchObject({ state: "scheduled", attempt: 0 });
  });

  it("a job that cannot be given back is reported, and its run counts as crashed", async () => {
    const { world, late, answer } = await receiveTooSlowly();
    world.pool.hooks.before = ({ operation }) => {
      if (operation === "read" || operation === "change") throw new Error("no answer");
    };
    answer();
    const what = "giving back a job that no caller received";
    await expect.poll(() => world.events).toContainEqual(expect.objectContaining({ type: "trouble", what }));
    delete world.pool.hooks.before;
    await world.pass(HOUR);
    await pull(world);
    expect(await world.home(late.id)).toMatchObject({ state: "dead", attempt: 1 });
  });

  it.each([
    ["work", "receive"],
    ["work", "claim"],
    ["events", "receive"],
  ])(
    "a job of %s that comes when its caller has gone, at the %s, goes to another caller, and no attempt is counted",
    async (topic, step) => {
      const world = createWorld();
      await world.file({ topic, maxAttempts: 1 });
      const caller = new AbortController();
      let polls = 0;
      const leaveAt = (wanted: string) => (call: { operation: string }) => {
        if (call.operation === wanted) caller.abort();
      };
      world.queues.hooks.before = ({ operation }) => {
        if (operation === "receive") polls++;
      };
      if (step === "receive") world.queues.hooks.after = leaveAt("receive");
      if (step === "claim") world.pool.hooks.before = leaveAt("changeMany");
      const asked = { max: 10, waitSeconds: 20, signal: caller.signal };
      expect(await receive(world.ctx, topic, asked, world.timers)).toEqual([]);
      expect({ gone: caller.signal.aborted, polls }).toEqual({ gone: true, polls: 1 });
      for (const { hooks } of [world.queues, world.pool]) {
        delete hooks.before;
        delete hooks.after;
      }
      expect(world.events.filter(({ type }) => type === "started")).toEqual([]);
      const [next] = await pull(world, topic);
      expect(next).toMatchObject({ attempt: 1 });
      // Only a job that was claimed has a new message.
      const revision = step === "claim" ? 1 : 0;
      expect(decodeReceipt(next?.receipt ?? "")).toMatchObject({ revision });
    },
  );

  it("a call of a paused topic ends when its caller has gone", async () => {
    const world = createWorld();
    await pauseTopic(world.ctx, "work");
    const caller = new AbortController();
    const wait = async (ms: number) => {
      caller.abort();
      await world.pass(ms);
    };
    const began = world.now();
    const asked = { max: 10, waitSeconds: 20, signal: caller.signal };
    expect(await receive(world.ctx, "work", asked, { ...world.timers, wait })).toEqual([]);
    expect(world.now() - began).toBe(5 * SECOND);
  });

  it("a job whose lease is prolonged for hours does not die in the DLQ, though SQS delivers its message twice", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work" });
    const job = await pullOne(world);
    const [message] = world.queues.messages({ topic: "work" });
    world.queues.duplicate({ topic: "work" }, message?.id ?? "");
    for (let minute = 0; minute < 120; minute++) {
      // Another worker receives the message, so the first worker's handle is not valid any more.
      expect(await pull(world)).toEqual([]);
      await extend(world.ctx, "work", job.receipt, 2 * MINUTE);
      await world.pass(MINUTE);
    }
    expect(world.queues.messages({ topic: "work", dead: true })).toEqual([]);
    expect(world.queues.messages({ topic: "work" })).toHaveLength(1);
    expect(await world.home(id)).toMatchObject({ state: "running", revision: 0 });
  });

  it("a message that cannot be divided is received again within seconds, however long the topic's `ttr` is", async () => {
    const world = createWorld({ shards: 1, topics: { work: {} } });
    for (let i = 0; i < 3; i++) await world.file({ topic: "work", delay: 5 * MINUTE });
    await world.pass(5 * MINUTE);
    const topics = { work: { consumer: "pull", ttr: 6 * 3600 } } as const;
    const ctx = { ...world.ctx, policy: { ...world.ctx.policy, topics } };
    const receiveAll = () => receive(ctx, "work", { max: 10, waitSeconds: 0 }, world.timers);
    world.queues.hooks.before = ({ operation }) => {
      if (operation === "send") throw new Error("throttled");
    };
    expect(await receiveAll()).toEqual([]);
    delete world.queues.hooks.before;
    await world.pass(10 * SECOND, { ticks: false });
    expect(await receiveAll()).toHaveLength(3);
  });

  it("a dead letter that cannot be redriven is received again within seconds, however long the topic's `ttr` is", async () => {
    const world = createWorld({
      shards: 1,
      topics: { work: { consumer: "pull", ttr: 6 * 3600, maxAttempts: 1 } },
    });
    const { id } = await world.file({ topic: "work" });
    const { receipt } = await pullOne(world);
    await settlePulled(world.ctx, "work", receipt, { end: "failed", error: "x", verb: "retry" });
    world.queues.redriveNatively("work");
    world.pool.hooks.before = ({ operation, keys }) => {
      if (operation === "read" && keys.some(({ sk }) => sk.includes(id))) throw new Error("throttled");
    };
    expect(await pull(world)).toEqual([]);
    delete world.pool.hooks.before;
    await world.pass(10 * SECOND, { ticks: false });
    expect(await pull(world)).toMatchObject([{ id }]);
  });

  it("jobs of a `millisecond` topic do not wait for each other, although one call may receive ten", async () => {
    const world = createWorld({ topics: { exact: { consumer: "pull", precision: "millisecond" } } });
    for (let i = 0; i < 5; i++) await world.file({ topic: "exact", delay: 5 * SECOND + i * 200 });
    await world.pass(4.9 * SECOND);
    for (let i = 0; i < 5; i++) {
      const jobs = await pull(world, "exact");
      expect(jobs.map(({ dueAt }) => world.now() - dueAt)).toEqual([0]);
    }
  });

  it("no job is handed out early when a timer fires a millisecond too soon", async () => {
    const world = createWorld({ topics: { exact: { consumer: "pull", precision: "millisecond" } } });
    const { dueAt } = await world.file({ topic: "exact", delay: 5 * SECOND });
    await world.pass(4.5 * SECOND);
    const hasty = { ...world.timers, wait: (ms: number) => world.pass(ms > 1 ? ms - 1 : ms) };
    expect(await receive(world.ctx, "exact", { max: 10, waitSeconds: 0 }, hasty)).toHaveLength(1);
    expect(world.now()).toBe(dueAt);
  });

  it("late jobs of a `millisecond` topic are received ten at a time, or one if the second call fails", async () => {
    const world = createWorld({ topics: { exact: { consumer: "pull", precision: "millisecond" } } });
    for (let i = 0; i < 14; i++) await world.file({ topic: "exact" });
    await world.pass(3 * SECOND);
    expect(await pull(world, "exact")).toHaveLength(10);
    let calls = 0;
    world.queues.hooks.before = async ({ operation }) => {
      if (operation === "receive" && ++calls === 2) throw new Error("SQS is busy");
    };
    expect(await pull(world, "exact")).toHaveLength(1);
    expect(await pull(world, "exact")).toHaveLength(3);
  });

  it("a retry by its receipt moves the job, and can be repeated; finish then is too late", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work" });
    const job = await pullOne(world);
    const ending = { end: "failed", error: "busy", retryAfter: 5 * SECOND, verb: "retry" } as const;
    expect(await settlePulled(world.ctx, "work", job.receipt, ending)).toMatchObject({
      revision: 1,
      lastError: "busy",
    });
    expect(await settlePulled(world.ctx, "work", job.receipt, ending)).toMatchObject({ revision: 1 });
    await expect(settlePulled(world.ctx, "work", job.receipt, { end: "done" })).rejects.toMatchObject({
      code: "claim-lost",
    });
    await world.pass(5 * SECOND);
    expect(await pullOne(world)).toMatchObject({ id, attempt: 2 });
  });

  it("an ended lease is a failed attempt, and its receipt is not accepted any more", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work" });
    const job = await pullOne(world);
    await world.pass(61 * SECOND);
    expect(await pull(world)).toEqual([]);
    await expect(settlePulled(world.ctx, "work", job.receipt, { end: "done" })).rejects.toMatchObject({
      code: "claim-lost",
    });
    await expect(extend(world.ctx, "work", job.receipt, MINUTE)).rejects.toMatchObject({
      code: "claim-lost",
    });
    await world.pass(23 * SECOND);
    expect(await pullOne(world)).toMatchObject({ id, attempt: 2 });
  });

  it("extend prolongs the lease and keeps the message hidden, twelve hours in all", async () => {
    const world = createWorld();
    await world.file({ topic: "work" });
    const job = await pullOne(world);
    const claimed = world.now();
    await world.pass(20 * SECOND);
    expect(await extend(world.ctx, "work", job.receipt, 10 * MINUTE)).toMatchObject({
      leaseUntil: world.now() + 10 * MINUTE,
    });
    await world.pass(9 * MINUTE);
    expect(await pull(world)).toEqual([]);
    expect(await extend(world.ctx, "work", job.receipt, 12 * HOUR)).toMatchObject({
      leaseUntil: claimed + 12 * HOUR,
    });
    await world.pass(HOUR);
    expect(await settlePulled(world.ctx, "work", job.receipt, { end: "done" })).toMatchObject({
      state: "done",
    });
  });

  it("bury makes a job dead at once, and can be repeated", async () => {
    const world = createWorld();
    await world.file({ topic: "work" });
    const job = await pullOne(world);
    const ending = { end: "buried", error: "broken", verb: "bury" } as const;
    expect(await settlePulled(world.ctx, "work", job.receipt, ending)).toMatchObject({ state: "dead" });
    expect(await settlePulled(world.ctx, "work", job.receipt, ending)).toMatchObject({ state: "dead" });
    expect(world.queues.messages({ topic: "work", dead: true })).toHaveLength(1);
  });

  it("a receipt of another topic, or garbage, settles nothing", async () => {
    const world = createWorld();
    await world.file({ topic: "work" });
    const job = await pullOne(world);
    await expect(settlePulled(world.ctx, "orders", job.receipt, { end: "done" })).rejects.toMatchObject({
      code: "not-a-pull-topic",
    });
    await expect(settlePulled(world.ctx, "work", "%%%", { end: "done" })).rejects.toMatchObject({
      code: "bad-request",
    });
    await expect(settlePulled(world.ctx, "work", "eyJ2IjoxfQ", { end: "done" })).rejects.toMatchObject({
      code: "bad-request",
    });
  });

  it("a cancelled job is not handed out, and its message is dropped", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work" });
    await cancel(world.ctx, id);
    expect(await pull(world)).toEqual([]);
    expect(world.queues.messages({ topic: "work" })).toEqual([]);
  });

  it("jobs whose messages come after void ones are handed out, even to a receive that does not wait", async () => {
    const world = createWorld();
    const cancelled = await world.file({ topic: "work" });
    const { id } = await world.file({ topic: "work" });
    await cancel(world.ctx, cancelled.id);
    const asked = { max: 1, waitSeconds: 0 };
    expect(await receive(world.ctx, "work", asked, world.timers)).toMatchObject([{ id }]);
  });

  it("a message less than two seconds early is held until its job is due", async () => {
    const world = createWorld();
    const job = await world.file({ topic: "work", delay: 500 });
    const [message] = world.queues.messages({ topic: "work" });
    await world.queues.send({ topic: "work" }, [{ body: message?.body ?? "", delaySeconds: 0 }]);
    await pullOne(world);
    expect(world.now()).toBe(job.dueAt);
  });
});

describe("untracked topics", () => {
  it("a near job goes straight to SQS and is never stored", async () => {
    const world = createWorld();
    await world.file({ topic: "events", delay: MINUTE });
    expect(world.pool.items().filter((item) => "state" in item)).toEqual([]);
    expect(world.queues.messages({ topic: "events" })).toHaveLength(1);
  });

  it("a job that SQS does not accept is not acknowledged", async () => {
    const world = createWorld();
    world.queues.trouble({ topic: "events" }, "failing");
    await expect(world.file({ topic: "events" })).rejects.toMatchObject({ code: "unavailable" });
  });

  it("a far job is stored once, swept, and finished by SQS alone", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "events", delay: HOUR });
    await world.pass(HOUR);
    const job = await pullOne(world, "events");
    expect(job.id).toBe(id);
    expect(await settlePulled(world.ctx, "events", job.receipt, { end: "done" })).toBeUndefined();
    expect(world.queues.messages({ topic: "events" })).toEqual([]);
    const bury = settlePulled(world.ctx, "events", job.receipt, { end: "buried", error: "" });
    await expect(bury).rejects.toMatchObject({ code: "untracked-topic" });
  });

  it("a key is refused", async () => {
    const world = createWorld();
    await expect(world.file({ topic: "events", key: "k" })).rejects.toMatchObject({
      code: "untracked-topic",
    });
  });
});
