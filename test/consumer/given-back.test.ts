import { describe, expect, test } from "vitest";
import { runJobs } from "../../src/consumer/run-jobs.ts";
import { DAY, MOST_RECEIVES } from "../../src/core/constants.ts";
import { homeKey } from "../../src/core/item-keys.ts";
import { parseMessage } from "../../src/core/message.ts";
import { reschedule } from "../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../src/protocol/file/enqueue.ts";
import { consume } from "../support/consume.ts";
import { orders } from "../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../support/world.ts";

/** Gives the visible messages of a topic back, as an invocation without time does. */
const giveBack = (world: World, topic: string) => consume(world, topic, { timeout: 0 });

/** Runs an invocation without time that receives a message for the `receives`th time. Answers whether the message stays. */
async function giveBackReceived(world: World, receives: number): Promise<boolean> {
  const [message] = await world.queues.receive(orders, { max: 1, waitSeconds: 0, hideSeconds: 60 });
  if (!message) throw new Error("there is no message");
  const delivery = { ...message, messageId: message.handle, receives };
  const timers = { wait: (ms: number) => world.pass(ms), after: () => () => {} };
  const kept = await runJobs(world.ctx, [delivery], async () => ({ end: "done" }), world.now(), timers);
  if (kept.size === 0) await world.queues.remove(orders, [message.handle]);
  return kept.size > 0;
}

/** All jobs in a topic's messages. */
const carriedBy = (world: World, topic: string): string[] =>
  world.queues
    .messages({ topic })
    .flatMap(({ body }) => parseMessage(body)?.jobs ?? [])
    .map(({ id, revision }) => `${id} ${revision}`);

/**
 * Runs an invocation whose handlers last longer than the function. Only the handlers of `failing` jobs fail at once. The
 * invocation gives back the jobs that it has not started, and is then killed.
 */
async function outlast(world: World, topic: string, failing: ReadonlySet<string> = new Set()): Promise<void> {
  const messages = await world.queues.receive({ topic }, { max: 10, waitSeconds: 0, hideSeconds: 60 });
  const timeout = 30 * SECOND;
  const calls: (() => void)[] = [];
  const isBack = Promise.withResolvers<void>();
  const ended = runJobs(
    world.ctx,
    messages.map((message) => ({ ...message, messageId: message.handle })),
    async ({ id }) => {
      if (failing.has(id)) return { end: "failed", error: "no bank" };
      await world.pass(timeout - SECOND, { ticks: false });
      for (const call of calls) call();
      // What these calls cause needs no timers, so it has happened before the next turn of the event loop.
      setImmediate(isBack.resolve);
      return new Promise<never>(() => {});
    },
    world.now() + timeout,
    {
      wait: (ms) => world.pass(ms, { ticks: false }),
      after: (_, call) => {
        calls.push(call);
        return () => {};
      },
    },
  );
  await Promise.race([isBack.promise, ended]);
  await world.pass(MINUTE, { ticks: false });
}

describe("a job that is given back", () => {
  test.each(["full", "none"] as const)(
    "is still in only one message if the process is then killed (tracking %s)",
    async (tracking) => {
      const world = createWorld({ topics: { slow: { tracking, concurrency: 1 } } });
      for (let i = 0; i < 10; i++) await world.file({ topic: "slow" });
      for (let i = 0; i < 5; i++) await outlast(world, "slow");
      const carried = carriedBy(world, "slow");
      expect(carried.length).toBeGreaterThan(0);
      expect(carried).toEqual([...new Set(carried)]);
    },
  );

  test.each([
    ["in the message of a job that lasts longer than the function", 10],
    ["in a message of its own", 1],
  ])("an untracked job that fails %s is still in only one message", async (_, pack) => {
    const backoff = { waits: [10] };
    const world = createWorld({ topics: { slow: { tracking: "none", pack, backoff, maxAttempts: 100 } } });
    const jobs = Array.from({ length: 10 }, () => ({ topic: "slow", body: "{}", dueAt: world.now() }));
    const ids = (await enqueueMany(world.ctx, jobs)).map((filed) => ("home" in filed ? filed.home.id : ""));
    for (let i = 0; i < 5; i++) await outlast(world, "slow", new Set(ids.slice(1)));
    expect(carriedBy(world, "slow").sort()).toEqual(ids.map((id) => `${id} 0`).sort());
  });

  test("of a topic with a limit is still in a message", async () => {
    const world = createWorld({ topics: { slow: { maxPerSecond: 2 } } });
    await world.tick();
    for (let i = 0; i < 6; i++) await world.file({ topic: "slow", delay: MINUTE });
    await world.pass(MINUTE + 10 * SECOND, { ticks: false });
    const before = carriedBy(world, "slow").sort();
    expect(before).toHaveLength(6);
    expect(await giveBack(world, "slow")).toEqual([]);
    expect(carriedBy(world, "slow").sort()).toEqual(before);
  });

  const CLOSES = 2 * HOUR;
  const OPENS = CLOSES + 14 * HOUR;
  const windowed = () => createWorld({ topics: { day: { window: "01:00-11:00 UTC" } } });

  test("after its window has shut waits for the next opening", async () => {
    const topic = "day";
    const world = windowed();
    const start = world.now();
    await world.tick();
    await world.pass(CLOSES - SECOND);
    const { id } = await world.file({ topic });
    await world.pass(2 * SECOND);
    expect(await giveBack(world, topic)).toEqual([]);
    const runs: { id: string; at: number }[] = [];
    for (let i = 0; i < 15 * 60; i++) {
      runs.push(...(await consume(world, topic)));
      await world.pass(MINUTE);
    }
    expect(runs).toMatchObject([{ id }]);
    expect(runs[0]?.at).toBeGreaterThanOrEqual(start + OPENS);
  });

  test("inside its window starts again at once", async () => {
    const world = windowed();
    const { id } = await world.file({ topic: "day" });
    await giveBack(world, "day");
    expect(await consume(world, "day")).toMatchObject([{ id }]);
  });

  test("keeps its old message if SQS does not take the new one, and the old messages of other jobs are removed", async () => {
    const world = createWorld();
    for (const group of ["a", "b"]) await world.file({ group });
    const { send } = world.queues;
    world.queues.send = async (queue, messages) =>
      messages[0]?.group === "a"
        ? [{ outcome: "failing", reason: "" }]
        : send.call(world.queues, queue, messages);
    await giveBack(world, "orders");
    expect(world.queues.messages(orders)).toHaveLength(2);
  });

  test("carries the number of receives after which a process died, and stays in its message once the number is `MOST_RECEIVES`", async () => {
    const world = createWorld();
    const job = await world.file({});
    let rounds = 0;
    while (!(await giveBackReceived(world, 6))) rounds++;
    expect(rounds).toBe(Math.floor((MOST_RECEIVES - 1) / 5));
    await world.pass(MINUTE, { ticks: false });
    expect(await consume(world, "orders")).toMatchObject([{ id: job.id, attempt: 1 }]);
  });

  test("for longer than finished jobs are stored does not run again if another message has run it", async () => {
    const world = createWorld({ retention: DAY / SECOND });
    const { id } = await world.file({ delay: 30 * DAY });
    await reschedule(world.ctx, id, { dueAt: world.now() });
    for (const { body } of world.queues.messages(orders))
      await world.queues.send(orders, [{ body, delaySeconds: 0 }]);
    expect(await consume(world, "orders", { max: 1 })).toMatchObject([{ id }]);
    for (let i = 0; i < 30; i++) {
      await giveBack(world, "orders");
      await world.pass(HOUR, { ticks: false });
    }
    // TTL deletes the job's item.
    await world.pool.remove([homeKey(id)], world.now() + SECOND);
    expect(world.visible("orders")).toMatchObject([{ id }]);
    expect(await consume(world, "orders")).toEqual([]);
  });

  describe("while Lambda is throttled, and its pollers hold messages until SQS delivers them again,", () => {
    const timers = (world: World) => ({ wait: (ms: number) => world.pass(ms), after: () => () => {} });
    /** Runs an invocation that begins `late` ms after the receive. The messages are visible again 90 s after the receive. */
    async function invoke(world: World, late: number, receives = 1): Promise<string[]> {
      const messages = await world.queues.receive(orders, { max: 10, waitSeconds: 0, hideSeconds: 90 });
      const visibleAt = world.now() + 90 * SECOND;
      await world.pass(late, { ticks: false });
      const deliveries = messages.map((message) => ({
        ...message,
        messageId: message.handle,
        receives,
        ...(receives === 1 && { visibleAt }),
      }));
      const run = async () => {
        await world.pass(20 * SECOND, { ticks: false });
        return { end: "done" } as const;
      };
      const ctx = { ...world.ctx, policy: { ...world.ctx.policy, topics: { orders: { concurrency: 1 } } } };
      const kept = await runJobs(ctx, deliveries, run, world.now() + MINUTE, timers(world));
      await world.queues.remove(
        orders,
        messages.flatMap(({ handle }) => (kept.has(handle) ? [] : handle)),
      );
      return [...kept];
    }
    async function filed(): Promise<World> {
      const world = createWorld();
      for (let i = 0; i < 5; i++) await world.file({ group: `g${i}` });
      return world;
    }

    test("a job is given back before others have its message, once", async () => {
      const world = await filed();
      expect(await invoke(world, 50 * SECOND)).toEqual([]);
      expect(world.now()).toBeLessThan(START + 90 * SECOND);
      expect(carriedBy(world, "orders")).toHaveLength(4);
    });

    test("a job whose message is visible to other consumers again is neither run nor given back", async () => {
      const world = await filed();
      expect(await invoke(world, 90 * SECOND)).toHaveLength(5);
      expect(carriedBy(world, "orders")).toHaveLength(5);
      expect(await consume(world, "orders")).toHaveLength(5);
    });

    test("a message that was received before stays, because its receive time is unknown, unless it was received too often", async () => {
      for (const [receives, kept] of [
        [2, 3],
        [5, 0],
      ] as const)
        expect(await invoke(await filed(), 0, receives)).toHaveLength(kept);
    });
  });

  test("may be given back any number of times if each of its messages is received only once", async () => {
    const world = createWorld();
    await world.file({});
    for (let i = 0; i < 2 * MOST_RECEIVES; i++) expect(await giveBackReceived(world, 1)).toBe(false);
  });
});
