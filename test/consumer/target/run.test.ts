import { describe, expect, it } from "vitest";
import type { Invoke, Invoked } from "../../../src/aws/invoke.ts";
import { targetRun } from "../../../src/consumer/target/run.ts";
import type { Home } from "../../../src/core/home.ts";
import { measuresOf } from "../../../src/environment/telemetry.ts";
import { fileOccurrence } from "../../../src/protocol/file/recurring.ts";
import { reportTopics } from "../../../src/protocol/read/topics.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const topic = "thumbnail";
const { signal } = new AbortController();
const THROTTLED = { throttled: "Rate Exceeded." };
const says = (answer: unknown): Invoked => ({ payload: Buffer.from(JSON.stringify(answer)) });

/** A function that answers with these in order, and then always with the last one. */
function target(...answers: (Invoked | Error)[]) {
  const events: unknown[] = [];
  const waits: number[] = [];
  const invoke: Invoke = async (payload) => {
    const answer = answers[Math.min(events.push(JSON.parse(payload)), answers.length) - 1] as Invoked | Error;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const wait = async (ms: number) => void waits.push(ms);
  return { events, waits, invoke, wait };
}

/** Invokes the caller once with the visible messages. */
function call({ ctx, ...world }: World, { invoke, wait }: ReturnType<typeof target>, report = ctx.report) {
  const run = targetRun({ ...ctx, report }, { invoke, longest: 5000 }, wait);
  return consume({ ctx, ...world }, topic, { run: (job) => run(job, topic, signal) });
}

const createThumbnails = (): World => createWorld({ topics: { [topic]: {} } });

describe("a job that a target runs", () => {
  it("reaches the target with its fields, and is done when the target has answered", async () => {
    const world = createThumbnails();
    const headers = { tenant: "7" };
    const { id } = await world.file({ topic, key: "cat", headers, body: '{"image":"cat.png"}' });
    const fn = target(says(null));
    await call(world, fn);
    expect(fn.events).toEqual([
      {
        ...{ id, topic, key: "cat", attempt: 1, headers },
        dueAt: "2026-03-01T09:00:00.000Z",
        body: { image: "cat.png" },
      },
    ]);
    expect(await world.home(id)).toMatchObject({ state: "done", attempt: 1 });
  });

  it("of a schedule has the schedule's name and the occurrence's time in its event", async () => {
    const world = createThumbnails();
    await fileOccurrence(world.ctx, { name: "daily", time: START, job: { topic, body: "1" } });
    const fn = target(says(null));
    await call(world, fn);
    expect(fn.events).toMatchObject([{ schedule: "daily", scheduledFor: "2026-03-01T09:00:00.000Z" }]);
  });

  it("names the span of its caller in its event", async () => {
    const world = createThumbnails();
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await world.file({ topic, body: "1", traceparent });
    const fn = target(says(null));
    await call(world, fn);
    expect(fn.events).toMatchObject([{ traceparent }]);
  });

  it("has no key and no headers in its event if it has none", async () => {
    const world = createThumbnails();
    await world.file({ topic, body: "1" });
    const fn = target(says({}));
    await call(world, fn);
    expect(Object.keys(fn.events[0] as object).sort()).toEqual(["attempt", "body", "dueAt", "id", "topic"]);
  });

  it("is repeated with its backoff after an error of the function, and after a call without an answer", async () => {
    const world = createThumbnails();
    const { id } = await world.file({ topic, body: "1" });
    const payload = Buffer.from('{"errorType":"ValueError","errorMessage":"no width"}');
    const fn = target({ payload, functionError: "Unhandled" }, new Error("socket hang up"), says({}));
    await call(world, fn);
    expect(await world.home(id)).toMatchObject({ state: "scheduled", lastError: "ValueError: no width" });
    await world.pass(60_000);
    await call(world, fn);
    expect(await world.home(id)).toMatchObject({ state: "scheduled", lastError: "socket hang up" });
    await world.pass(3_600_000);
    await call(world, fn);
    expect(await world.home(id)).toMatchObject({ state: "done", attempt: 3 });
    expect(fn.events).toMatchObject([{ attempt: 1 }, { attempt: 2 }, { attempt: 3 }]);
  });

  it("runs again as the target asks, without a used attempt, until the target buries it", async () => {
    const world = createThumbnails();
    const { id } = await world.file({ topic, body: "1" });
    const fn = target(says({ retryIn: "30s" }), says({ bury: "no such image" }));
    await call(world, fn);
    expect(await world.home(id)).toMatchObject({ state: "scheduled", attempt: 0 });
    await world.pass(30_000);
    await call(world, fn);
    expect(await world.home(id)).toMatchObject({ state: "dead", attempt: 1, lastError: "no such image" });
  });

  it("waits in its slot while the function is throttled for a moment", async () => {
    const world = createThumbnails();
    const { id } = await world.file({ topic, body: "1" });
    const fn = target(THROTTLED, THROTTLED, THROTTLED, says({}));
    await call(world, fn);
    expect(await world.home(id)).toMatchObject({ state: "done", attempt: 1 });
    for (const [i, longest] of [1000, 2000, 4000].entries()) {
      expect(fn.waits[i]).toBeGreaterThanOrEqual(longest / 2);
      expect(fn.waits[i]).toBeLessThanOrEqual(longest);
    }
  });

  it("goes back without a used attempt if the function stays throttled, and the log says so", async () => {
    const world = createThumbnails();
    const { id } = await world.file({ topic, body: "1" });
    const fn = target(THROTTLED);
    const told: unknown[] = [];
    await call(world, fn, (event) => void told.push(event));
    expect(fn.events).toHaveLength(5);
    const home = await world.home(id);
    expect(home).toMatchObject({ state: "scheduled", attempt: 0 });
    const wait = (home?.dueAt ?? 0) - world.ctx.clock();
    expect(wait).toBeGreaterThanOrEqual(15_000);
    expect(wait).toBeLessThanOrEqual(30_000);
    expect(told).toContainEqual({
      ...{ type: "trouble", topic, what: "invoking the target", error: "Rate Exceeded." },
    });
  });

  it("counts as waiting for a retry while the function is throttled, rings after a quarter of an hour, and waits longer each time", async () => {
    const world = createThumbnails();
    const { id } = await world.file({ topic, body: "1" });
    const fn = target(THROTTLED);
    const waits: number[] = [];
    for (const end = world.now() + 6 * HOUR; world.now() < end; ) {
      await call(world, fn);
      const { dueAt } = (await world.home(id)) as Home;
      expect(await reportTopics(world.ctx, [topic])).toMatchObject([
        { retrying: { count: 1, error: "throttled: Rate Exceeded.", next: dueAt, failedAt: world.now() } },
      ]);
      waits.push(dueAt - world.now());
      await world.pass(dueAt - world.now() + SECOND);
    }
    // The default backoff has 15 s, 3, 10, 30, 30 and 60 minutes. The first wait is 30 s at most.
    for (const [i, longest] of [MINUTE / 2, 3 * MINUTE, 10 * MINUTE, 30 * MINUTE, 30 * MINUTE].entries()) {
      expect(waits[i]).toBeGreaterThanOrEqual(longest / 2);
      expect(waits[i]).toBeLessThanOrEqual(longest);
    }
    expect(waits.length).toBeLessThan(12);
    const ends = world.events.filter((event) => event.type === "failed");
    expect(ends).toHaveLength(waits.length);
    expect(ends.flatMap(measuresOf)).toEqual([]);
    const rung = world.events.filter(({ type }) => type === "throttled");
    // The first four runs come within a quarter of an hour.
    expect(rung).toHaveLength(waits.length - 4);
    expect(rung[0]).toEqual({ type: "throttled", topic, id, since: Date.parse("2026-03-01T09:00:00Z") });

    await call(world, target({ payload: Buffer.from("{}"), functionError: "Unhandled" }));
    expect(await world.home(id)).toMatchObject({ attempt: 1, lastError: "Unhandled: {}" });
    expect(await world.home(id)).not.toHaveProperty("throttled");
  });

  it("waits longer each time without a record too", async () => {
    const world = createWorld({ topics: { [topic]: { tracking: "none" } } });
    await world.file({ topic, body: "1" });
    const fn = target(THROTTLED);
    for (const end = world.now() + 6 * HOUR; world.now() < end; await world.pass(MINUTE / 4))
      await call(world, fn);
    // Each run invokes the function five times.
    expect(fn.events.length / 5).toBeLessThan(15);
    expect(fn.events.at(-1)).toMatchObject({ attempt: 1 });
    expect(world.events).toContainEqual(expect.objectContaining({ type: "throttled", topic }));
  });

  it("fails when no answer comes in time, and says how long the caller waited", async () => {
    const world = createThumbnails();
    const { id } = await world.file({ topic, body: "1" });
    const hangs: Invoke = (_, aborted) =>
      new Promise((_, reject) => aborted.addEventListener("abort", () => reject(aborted.reason)));
    const run = targetRun(world.ctx, { invoke: hangs, longest: 20 }, async () => {});
    await consume(world, topic, { run: (job) => run(job, topic, signal) });
    expect(await world.home(id)).toMatchObject({
      ...{ state: "scheduled", attempt: 1, lastError: "no answer within 0.02 s" },
    });
  });
});
