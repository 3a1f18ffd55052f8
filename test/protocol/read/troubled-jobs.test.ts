import { describe, expect, test, vi } from "vitest";
import { BODY_BYTES, COUNT_BYTES } from "../../../src/core/constants.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import type { Enqueued } from "../../../src/protocol/new-job.ts";
import { reportTopics, type TopicReport } from "../../../src/protocol/read/topics.ts";
import { settlePulled } from "../../../src/protocol/run/settle-pulled.ts";
import { noteTroubled } from "../../../src/protocol/store/troubled.ts";
import { consume } from "../../support/consume.ts";
import { fail, pull } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

async function report(world: World, topic = "work"): Promise<TopicReport> {
  const [found] = await reportTopics(world.ctx, [topic]);
  if (!found) throw new Error(`no report of ${topic}`);
  return found;
}

async function file(world: World, count: number, dueAt: number, topic: string): Promise<void> {
  const jobs = Array.from({ length: count }, (_, i) => ({ topic, body: "{}", dueAt: dueAt + i }));
  await enqueueMany(world.ctx, jobs);
}

const FEW = { ...SIZES, listEntries: 60 };

/** Ends the runs of the next jobs, and answers how many these were. */
async function pullAndEnd(world: World, ending: Parameters<typeof settlePulled>[3]): Promise<number> {
  const jobs = await pull(world);
  for (const { receipt } of jobs) await settlePulled(world.ctx, "work", receipt, ending);
  return jobs.length;
}

async function failAll(world: World): Promise<void> {
  while ((await pullAndEnd(world, { end: "failed", error: `HTTP 503 at ${world.now()}` })) > 0)
    await world.pass(1);
}

/** A world in which 150 jobs wait two hours for their retry, more than a report counts. */
async function manyRetries(): Promise<World> {
  const world = createWorld(
    { topics: { work: { consumer: "pull", backoff: { waits: [7200] }, maxAttempts: 3 } } },
    FEW,
  );
  await world.tick();
  await file(world, 150, START, "work");
  await world.pass(2 * SECOND);
  await failAll(world);
  return world;
}

describe("the report of a topic says how many jobs are late, and since when the oldest", () => {
  test("is, from five seconds after it could have started", async () => {
    const world = createWorld();
    await world.tick();
    const { dueAt } = await world.file({ topic: "work", delay: 10 * SECOND });
    await world.pass(14_999);
    expect((await report(world)).late).toEqual({ count: 0 });
    await world.pass(1);
    expect((await report(world)).late).toEqual({ count: 1, since: dueAt });
    expect((await report(world, "orders")).late).toEqual({ count: 0 });
    await pull(world);
    expect((await report(world)).late).toEqual({ count: 0 });
  });

  test.each([10 * MINUTE, 3 * HOUR, 9 * 24 * HOUR])("also if it is late since %i ms", async (ms) => {
    const world = createWorld();
    await world.tick();
    const { dueAt } = await world.file({ topic: "work", delay: 10 * SECOND });
    await world.pass(ms + 15 * SECOND);
    expect((await report(world)).late).toEqual({ count: 1, since: dueAt });
  });

  test("although no tick runs", async () => {
    const world = createWorld();
    await world.tick();
    const { dueAt } = await world.file({ topic: "work", delay: 10 * SECOND });
    await world.pass(3 * HOUR, { ticks: false });
    expect((await report(world)).late).toEqual({ count: 1, since: dueAt });
  });

  test("although a pause holds many jobs of another topic, and with bounded reads", async () => {
    const world = createWorld({}, FEW);
    await world.tick();
    await pauseTopic(world.ctx, "orders");
    for (let minute = 1; minute < 40; minute++) await file(world, 100, START + minute * MINUTE, "orders");
    const { dueAt } = await world.file({ topic: "work", delay: 20 * MINUTE + 30 * SECOND });
    await world.pass(40 * MINUTE);
    const calls: string[] = [];
    world.pool.hooks.before = ({ operation, keys }) => {
      for (let i = 0; i < Math.max(keys.length, 1); i++) calls.push(operation);
    };
    const found = await report(world);
    expect(found.late).toEqual({ count: 1, since: dueAt, atLeast: true });
    expect(found.sampledSince).toBeLessThanOrEqual(world.now() - 7 * MINUTE);
    expect(calls.length).toBeLessThan(200);
    expect((await report(world, "orders")).late).toMatchObject({ count: 0 });
  });

  test("and that there may be more, where a bound ends the read", async () => {
    const world = createWorld({}, FEW);
    await world.tick();
    await file(world, 300, START + MINUTE, "work");
    await world.pass(2 * HOUR);
    const { late } = await report(world);
    expect(late).toMatchObject({ atLeast: true });
    expect(late.count).toBeGreaterThan(20);
    expect(late.count).toBeLessThan(100);
  });

  test("and that there may be more, where the bodies have too many bytes", async () => {
    const world = createWorld({ shards: 1 }, { ...SIZES, page: 5 });
    await world.tick();
    const body = JSON.stringify("x".repeat(BODY_BYTES - 2));
    await enqueueMany(
      world.ctx,
      Array.from({ length: 500 }, () => ({ topic: "work", body, dueAt: START + MINUTE })),
    );
    await world.pass(2 * MINUTE, { ticks: false });
    const { late } = await report(world);
    expect(late).toMatchObject({ count: 5 * Math.ceil(COUNT_BYTES / (5 * BODY_BYTES)), atLeast: true });
  });

  test("although many more of its jobs wait for a retry", async () => {
    const world = await manyRetries();
    const { dueAt } = await world.file({ topic: "work", delay: 0 });
    await world.pass(90 * MINUTE);
    const { late, retrying } = await report(world);
    expect(late).toEqual({ count: 1, since: dueAt });
    expect(retrying).toMatchObject({ atLeast: true });
    expect(retrying.count).toBeGreaterThanOrEqual(60);
  });

  test("although audits found many jobs late that have run since", async () => {
    const world = createWorld({ topics: { work: { consumer: "pull" }, orders: { consumer: "pull" } } }, FEW);
    await world.tick();
    await file(world, 300, START + MINUTE, "work");
    await world.pass(25 * MINUTE);
    while ((await pullAndEnd(world, { end: "done" })) > 0);
    expect((await report(world)).late).toEqual({ count: 0 });
    const { dueAt } = await world.file({ topic: "work", delay: 0 });
    await world.pass(15 * MINUTE);
    expect(await report(world)).toMatchObject({ late: { count: 1, since: dueAt } });
  });

  test("and that there may be more, where the read takes too long", async () => {
    const world = createWorld({ topics: { work: { consumer: "pull" } } }, FEW);
    await world.tick();
    await file(world, 300, START + MINUTE, "work");
    await world.pass(25 * MINUTE);
    while ((await pullAndEnd(world, { end: "done" })) > 0);
    world.pool.hooks.before = ({ operation, keys }) =>
      operation === "read" && keys.length > 20 ? world.pass(600, { ticks: false }) : undefined;
    expect((await report(world)).late).toEqual({ count: 0, atLeast: true });
  });

  test("of more late jobs than are counted, the oldest", async () => {
    const world = createWorld({ topics: { work: { consumer: "pull" } } }, FEW);
    await world.tick();
    await file(world, 100, START + 3 * MINUTE, "work");
    const { dueAt } = await world.file({ topic: "work", delay: MINUTE });
    await world.pass(40 * MINUTE);
    await file(world, 100, world.now(), "work");
    await world.pass(20 * MINUTE);
    const { late } = await report(world);
    expect(late).toMatchObject({ since: dueAt, atLeast: true });
    expect(late.count).toBeGreaterThanOrEqual(60);
  });

  test("not the jobs of a paused topic, and those of a resumed one that still wait, once nothing holds them", async () => {
    const world = createWorld();
    await world.tick();
    await pauseTopic(world.ctx, "work");
    await world.file({ topic: "work", delay: 10 * SECOND });
    await world.pass(3 * HOUR);
    expect((await report(world)).late).toEqual({ count: 0 });
    await resume(world.ctx, "work", undefined);
    const { pause } = await report(world);
    expect(pause).toMatchObject({ state: "resuming", parked: 0 });
    await world.pass(2 * MINUTE);
    expect((await report(world)).late).toMatchObject({ count: 1 });
    expect((await report(world)).pause?.state).toBe("resuming");
  });

  test("not the jobs that a limit holds, but those whose start has come", async () => {
    const world = createWorld({
      topics: { work: { consumer: "pull", maxPerSecond: 0.01 }, orders: {} },
    });
    await world.tick();
    await file(world, 10, START + MINUTE, "work");
    await world.pass(MINUTE + 30 * SECOND);
    expect((await report(world)).late).toMatchObject({ count: 1 });
    await world.pass(3 * MINUTE);
    expect((await report(world)).late).toMatchObject({ count: 3 });
  });

  test("not the jobs that wait for the window of their topic", async () => {
    const world = createWorld({ topics: { orders: { window: "10:00-12:00 UTC" } } });
    await world.tick();
    await world.file({ delay: MINUTE });
    await world.pass(30 * MINUTE);
    expect((await report(world, "orders")).late).toEqual({ count: 0 });
    await world.pass(31 * MINUTE);
    expect((await report(world, "orders")).late).toEqual({ count: 1, since: START + HOUR });
  });
});

describe("the report of a topic says how many jobs wait for a retry", () => {
  test("with the error of the last failure and the time of the next attempt", async () => {
    const world = createWorld({ topics: { orders: { backoff: { waits: [600, 7200] } }, work: {} } });
    await world.tick();
    const first = await world.file({ delay: 0 });
    await consume(world, "orders", { run: fail });
    await world.pass(MINUTE);
    await world.file({ delay: 0 });
    await consume(world, "orders", { run: () => ({ end: "failed", error: "HTTP 503" }) });
    const failedAt = world.now();
    const next = (await world.home(first.id)).dueAt;
    const retrying = { count: 2, error: "HTTP 503", failedAt, next };
    expect(await report(world, "orders")).toMatchObject({ retrying, late: { count: 0 } });
    expect((await report(world)).retrying).toEqual({ count: 0 });
    await world.pass(next - world.now() - 1);
    expect(await report(world, "orders")).toMatchObject({ retrying, late: { count: 0 } });
    await cancel(world.ctx, first.id);
    expect((await report(world, "orders")).retrying).toMatchObject({ count: 1 });
    await world.pass(10 * MINUTE + 6 * SECOND);
    expect(await report(world, "orders")).toMatchObject({ retrying: { count: 0 }, late: { count: 1 } });
  });

  test("with the newest error of more retries than are counted", async () => {
    const world = await manyRetries();
    const { retrying } = await report(world);
    const failedAt = world.now() - 1;
    expect(retrying).toMatchObject({ atLeast: true, error: `HTTP 503 at ${failedAt}`, failedAt });
  });

  test("but not a retry that the job has asked for, nor one that is due and held", async () => {
    const world = createWorld({
      topics: { orders: { backoff: { waits: [60] }, maxAttempts: 5, window: "09:00-09:05 UTC" } },
    });
    await world.tick();
    for (let i = 0; i < 2; i++) await world.file({ delay: 0 });
    await consume(world, "orders", { run: fail });
    expect(await report(world, "orders")).toMatchObject({ retrying: { count: 2 } });
    await world.pass(2 * MINUTE);
    const ends = [fail(), { end: "retry-in", wait: MINUTE } as const];
    await consume(world, "orders", { run: () => ends.pop() ?? fail() });
    expect(await report(world, "orders")).toMatchObject({ retrying: { count: 1 } });
    await world.pass(10 * MINUTE);
    expect(await report(world, "orders")).toMatchObject({ retrying: { count: 0 }, late: { count: 0 } });
  });

  test("and that there may be more, where the bodies have too many bytes", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const body = JSON.stringify("x".repeat(BODY_BYTES - 2));
    const jobs = Array.from({ length: 500 }, () => ({ topic: "work", body }));
    const filed = await enqueueMany(world.ctx, jobs);
    await noteTroubled(
      world.ctx,
      "retrying",
      filed.map((one) => ({
        id: (one as Enqueued).home.id,
        topic: "work",
        time: world.now() + HOUR,
        since: 0,
      })),
    );
    const reads: number[] = [];
    world.pool.hooks.before = ({ operation, keys }) => {
      if (operation === "read" && keys.length === SIZES.heads) reads.push(keys.length);
    };
    expect((await report(world)).retrying).toEqual({ count: 0, atLeast: true });
    expect(reads).toHaveLength(Math.ceil(COUNT_BYTES / (SIZES.heads * BODY_BYTES)));
  });

  test("and its retry does not wait for a note that is slow to be written", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 0 });
    const slow = Promise.withResolvers<void>();
    world.pool.hooks.before = ({ operation, keys }) =>
      operation === "insert" && keys.some(({ pk }) => pk.startsWith("retrying")) ? slow.promise : undefined;
    const consumed = consume(world, "orders", { run: fail });
    await vi.waitFor(async () =>
      expect(await world.home(job.id)).toMatchObject({ state: "scheduled", attempt: 1 }),
    );
    slow.resolve();
    await consumed;
  });

  test("and counts on when a note cannot be written", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 0 });
    world.pool.hooks.before = ({ operation, keys }) => {
      if (operation === "insert" && keys.some(({ pk }) => pk.startsWith("retrying"))) throw new Error("down");
    };
    await consume(world, "orders", { run: fail });
    expect(await world.home(job.id)).toMatchObject({ state: "scheduled", attempt: 1, lastError: "no" });
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "trouble", what: "noting late jobs and retries" }),
    );
  });
});
