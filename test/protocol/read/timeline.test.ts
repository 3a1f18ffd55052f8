import { describe, expect, test } from "vitest";
import { actorOf } from "../../../src/core/actor.ts";
import type { Home } from "../../../src/core/home.ts";
import { logAfter, timelineOf } from "../../../src/core/timeline.ts";
import { jobJson } from "../../../src/http/job-json.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { cancelByEvent } from "../../../src/protocol/change/cancel-by-event.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import { callsOf, fail, key } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

/** The events of a job's timeline, each with its seconds since the start. */
async function told(world: World, { id }: Home): Promise<string[]> {
  return jobJson(world.ctx, await world.home(id)).timeline.map(
    ({ event, at, attempt, dueAt, heldUntil, by, lateness, error }) =>
      [
        `${(Date.parse(at) - START) / SECOND} ${event}`,
        ...(attempt === undefined ? [] : [`run ${attempt}`]),
        ...(dueAt === undefined ? [] : [`due ${(Date.parse(dueAt) - START) / SECOND}`]),
        ...(heldUntil === undefined ? [] : [`until ${(Date.parse(heldUntil) - START) / SECOND}`, by?.kind]),
        ...(lateness === undefined ? [] : [`late ${lateness}`]),
        ...(error === undefined ? [] : [error]),
      ].join(", "),
  );
}

/** The operations of the pool that `act` calls. */
async function operationsOf(world: World, act: () => Promise<unknown>): Promise<string[]> {
  const calls = await callsOf(world, act);
  return calls.filter(({ keys }) => keys.length > 0).map(({ operation }) => operation);
}

const bytesOf = (home: Home): number => Buffer.byteLength(JSON.stringify(home));

describe("a timeline", () => {
  test("has a first run from filing to its end, and for that the home stores only when the job was sent", async () => {
    const world = createWorld();
    const filed = await world.file({ delay: 10 * SECOND });
    expect(await told(world, filed)).toEqual(["0 filed, due 10"]);
    await world.pass(10.5 * SECOND);
    const calls = await operationsOf(world, () => consume(world, "orders"));
    // The read of the pause, the claim, and the settle.
    expect(calls).toEqual(["read", "changeMany", "changeMany"]);
    expect(await told(world, filed)).toEqual([
      "0 filed, due 10",
      "0 sent, run 1",
      "10.5 claimed, run 1, late 0.5",
      "10.5 done, run 1",
    ]);
    const before = new Set(Object.keys(filed));
    const added = Object.keys(await world.home(filed.id)).filter((name) => !before.has(name));
    expect(added.sort()).toEqual(["claimedAt", "expiresAt", "finishedAt", "leaseEnd", "sentAt", "token"]);
  });

  test("has each run that failed or asked for a retry, without additional writes for the timeline", async () => {
    const world = createWorld();
    const job = await world.file({});
    const calls = await operationsOf(world, () => consume(world, "orders", { run: fail }));
    // The claim; the home, the note of the retry, the first of its topic, the look and the move.
    expect(calls).toEqual(["changeMany", "read", "insert", "insert", "insert", "change"]);
    await world.pass(15 * SECOND);
    await consume(world, "orders", { run: () => ({ end: "retry-in", wait: 30 * SECOND }) });
    await world.pass(30 * SECOND);
    await consume(world, "orders");
    expect(await told(world, job)).toEqual([
      "0 filed, due 0",
      "0 failed, run 1, no",
      "0 retried, due 15",
      "0 sent, run 2",
      "15 claimed, run 2, late 0",
      "15 asked-to-retry, run 2",
      "15 retried, due 45",
      "15 sent, run 2",
      "45 claimed, run 2, late 0",
      "45 done, run 2",
    ]);
  });

  test("continues after a death, a redrive and a second death", async () => {
    const world = createWorld();
    const job = await world.file({ maxAttempts: 1 });
    await consume(world, "orders", { run: fail });
    expect(await told(world, job)).toEqual([
      "0 filed, due 0",
      "0 sent, run 1",
      "0 claimed, run 1, late 0",
      "0 dead, run 1, no",
    ]);
    await world.pass(5 * SECOND);
    await redrive(world.ctx, "orders", { max: 1, delay: 0 });
    await consume(world, "orders", { run: () => ({ end: "buried", error: "hopeless" }) });
    expect(await told(world, job)).toEqual([
      "0 filed, due 0",
      "0 sent, run 1",
      "0 claimed, run 1, late 0",
      "0 dead, run 1, no",
      "5 moved, due 5",
      "5 sent, run 1",
      "5 claimed, run 1, late 0",
      "5 dead, run 1, hopeless",
    ]);
  });

  test("says that a run has crashed, whichever process notices the crash", async () => {
    for (const meet of ["message", "reschedule", "cancel"]) {
      const world = createWorld();
      const job = await world.file({});
      await crashWhileRunning(world, "orders", 10 * SECOND);
      await world.pass(MINUTE, { ticks: false });
      if (meet === "message") await consume(world, "orders");
      if (meet === "reschedule") await reschedule(world.ctx, job.id, { dueAt: START + HOUR });
      if (meet === "cancel") await cancel(world.ctx, job.id);
      const crash =
        "60 failed, run 1, the run did not end by 2026-03-01T09:00:10.000Z: it crashed, or was stopped";
      const retried = expect.stringMatching(/^60 retried, due (7[5-9]|8[0-3])/);
      const then = { message: retried, reschedule: "60 moved, due 3600", cancel: "60 cancelled" }[meet];
      expect((await told(world, job)).slice(2)).toEqual(["0 claimed, run 1, late 0", crash, then]);
    }
  });

  test("says why a late job was not run, and gives no reason for a job that its caller cancelled", async () => {
    const world = createWorld();
    const late = await world.file({ expiresAfter: 10 * SECOND });
    const gone = await world.file({});
    await world.pass(11 * SECOND);
    await cancel(world.ctx, gone.id);
    await consume(world, "orders");
    const why = "it was to start by 2026-03-01T09:00:10.000Z";
    expect(await told(world, late)).toEqual(["0 filed, due 0", "0 sent, run 1", `11 expired, ${why}`]);
    expect(await told(world, gone)).toEqual(["0 filed, due 0", "11 cancelled"]);
  });

  test("of a job that failed and then is cancelled shows the error with the failed run", async () => {
    const world = createWorld();
    const job = await world.file({});
    await consume(world, "orders", { run: fail });
    await cancel(world.ctx, job.id);
    expect((await told(world, job)).slice(-3)).toEqual([
      "0 failed, run 1, no",
      "0 retried, due 15",
      "0 cancelled",
    ]);
  });

  test.each(["a caller", "an event", "an event while it ran, and a caller"])(
    "of a job that %s cancels after a crash says that the run crashed, without the error of an earlier run",
    async (who) => {
      const world = createWorld();
      const job = await world.file({ key });
      await consume(world, "orders", { run: fail });
      await world.pass(15 * SECOND, { ticks: false });
      await crashWhileRunning(world, "orders");
      const at = world.now();
      const byEvent = () => cancelByEvent(world.ctx, { id: "e", topic: "orders", key, at, until: at });
      if (who.includes("while")) await byEvent();
      await world.pass(MINUTE, { ticks: false });
      await (who.includes("caller") ? cancel(world.ctx, job.id) : byEvent());
      const lines = (await told(world, job)).slice(-4);
      expect(lines).toEqual([
        expect.stringMatching(/^15 sent|^0 sent/),
        "15 claimed, run 2, late 0",
        expect.stringMatching(/^75 failed, run 2, the run did not end by/),
        "75 cancelled",
      ]);
      expect((await world.home(job.id)).lastError).toMatch(/^the run did not end by/);
    },
  );

  test("does not count a pause as lateness of a job that waited in its queue, and neither does the metric", async () => {
    const world = createWorld();
    // No sweep reads the job, so no sweep parks it.
    await world.tick();
    const job = await world.file({ delay: MINUTE });
    await world.pass(30 * SECOND);
    await pauseTopic(world.ctx, "orders");
    await world.pass(2 * MINUTE);
    await resume(world.ctx, "orders", undefined);
    await world.pass(4 * SECOND);
    await consume(world, "orders", { run: fail });
    const claimed = "154 claimed, run 1, late 4";
    expect((await told(world, job)).slice(0, 5)).toEqual([
      "0 filed, due 60",
      "0 sent, run 1",
      "154 held, until 150, pause",
      claimed,
      expect.stringMatching(/^154 failed, run 1/),
    ]);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "started", lateMs: 94 * SECOND, heldMs: 90 * SECOND }),
    );
    // The next run was not held.
    await world.pass(15 * SECOND);
    await consume(world, "orders");
    expect((await told(world, job)).slice(-2)).toEqual(["169 claimed, run 2, late 0", "169 done, run 2"]);
  });

  test("counts a job's lateness from the start that a release gave it, not from before the pause", async () => {
    const world = createWorld();
    const job = await world.file({});
    await world.pass(2 * HOUR);
    await pauseTopic(world.ctx, "orders");
    await world.pass(MINUTE);
    await consume(world, "orders");
    await resume(world.ctx, "orders", undefined);
    while (!(await told(world, job)).some((line) => line.includes("claimed"))) {
      await world.pass(SECOND);
      await consume(world, "orders");
    }
    const claimed = (await told(world, job)).find((line) => line.includes("claimed"));
    expect(claimed).toMatch(/late [01]$/);
  });

  test("names the limit that gave a job a later start, in the write of that start", async () => {
    const world = createWorld({ topics: { slow: { maxPerSecond: 1 } } });
    await world.tick();
    const [first, second] = [await world.file({ topic: "slow" }), await world.file({ topic: "slow" })];
    expect(await told(world, first)).toEqual(["0 filed, due 0"]);
    expect(first).not.toHaveProperty("heldBy");
    expect(await told(world, second)).toEqual(["0 filed, due 0", "0 held, until 1, limit"]);
    await world.pass(SECOND);
    await consume(world, "slow", { run: fail });
    expect((await told(world, second)).slice(1)).toEqual([
      "0 held, until 1, limit",
      "0 sent, run 1",
      "1 claimed, run 1, late 0",
      "1 failed, run 1, no",
      "1 retried, due 16",
      // The first job runs again in that second.
      "1 held, until 17, limit",
    ]);
  });

  test("tells a hold before the cancel that came a moment earlier and was written a moment later", async () => {
    const world = createWorld({ topics: { slow: { maxPerSecond: 1 } } });
    await world.tick();
    await world.file({ topic: "slow" });
    const { id } = await world.file({ topic: "slow" });
    const home = await world.home(id);
    const finishedAt = (home.heldBy?.at ?? 0) - 1;
    const cancelled = { ...home, state: "cancelled", finishedAt, expiresAt: 0 } as Home;
    expect(timelineOf(cancelled).map(({ what, at }) => [what, at])).toEqual([
      ["filed", START],
      ["held", finishedAt],
      ["cancelled", finishedAt],
    ]);
  });

  test("names the pause whose resume gave a job its start, and the window that holds one", async () => {
    const world = createWorld({ topics: { orders: {}, night: { window: "22:00-06:00 UTC" } } });
    const night = await world.file({ topic: "night" });
    const opening = (13 * HOUR) / SECOND;
    expect((await told(world, night)).at(-1)).toBe(`0 held, until ${opening}, window`);
    await pauseTopic(world.ctx, "orders");
    const job = await world.file({});
    await world.pass(10 * MINUTE);
    expect(await told(world, job)).toEqual(["0 filed, due 0"]);
    await resume(world.ctx, "orders", 1);
    await world.pass(MINUTE);
    expect((await told(world, job)).at(-1)).toMatch(/^6\d\d held, until 6\d\d(\.\d+)?, pause$/);
  });

  test("tells a job that a pause holds from one that only the limit holds during a resume", async () => {
    const world = createWorld({ topics: { slow: { maxPerSecond: 1 } } });
    await pauseTopic(world.ctx, "slow");
    const parked = await world.file({ topic: "slow" });
    await world.pass(10 * MINUTE);
    await resume(world.ctx, "slow", 1);
    await world.pass(5 * SECOND);
    expect((await told(world, parked)).at(-1)).toMatch(/held, until 6\d\d, pause$/);
    const later = world.now() + 20 * MINUTE;
    // More jobs than the limit starts before the next tick: the release gives the last ones their starts.
    const jobs = await Promise.all(
      Array.from({ length: 300 }, () => world.file({ topic: "slow", dueAt: later })),
    );
    await world.pass(30 * MINUTE);
    const held = await Promise.all(jobs.map(async (job) => (await told(world, job)).at(-1)));
    expect(held.filter((event) => event?.endsWith(", pause"))).toEqual([]);
    expect(held.filter((event) => event?.endsWith(", limit")).length).toBeGreaterThan(290);
  });

  test("names the window that was shut when a resume let go of a job whose message lay in the queue", async () => {
    const world = createWorld({ topics: { day: { window: "09:00-09:02 UTC" } } });
    const job = await world.file({ topic: "day" });
    await pauseTopic(world.ctx, "day");
    await world.pass(5 * MINUTE, { ticks: false });
    await resume(world.ctx, "day", undefined);
    await world.pass(24 * HOUR - 5 * MINUTE + SECOND, { ticks: false });
    await consume(world, "day");
    const day = (24 * HOUR) / SECOND;
    expect((await told(world, job)).slice(1)).toEqual([
      `0 sent, run 1`,
      `${day + 1} held, until ${day}, window`,
      `${day + 1} claimed, run 1, late 1`,
      `${day + 1} done, run 1`,
    ]);
  });

  test("has a hold once, although a new body keeps it", async () => {
    const world = createWorld({ topics: { night: { window: "22:00-06:00 UTC" } } });
    const job = await world.file({ topic: "night" });
    await reschedule(world.ctx, job.id, { body: "2" });
    expect(await world.home(job.id)).toHaveProperty("heldUntil", START + 13 * HOUR);
    expect(await told(world, job)).toEqual([
      "0 filed, due 0",
      "0 held, until 46800, window",
      "0 moved, due 0",
    ]);
  });

  test("says why a job expired, if a release ended it without a message", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 20 * MINUTE, expiresAfter: MINUTE });
    await pauseTopic(world.ctx, "orders");
    await world.pass(30 * MINUTE);
    await resume(world.ctx, "orders", undefined);
    const startBy = new Date(START + 21 * MINUTE).toISOString();
    expect((await told(world, job)).at(-1)).toBe(`1800 expired, it was to start by ${startBy}`);
  });

  test("of a job that asked for a retry and was cancelled during that run says so, without the error of an earlier run", async () => {
    const world = createWorld();
    const job = await world.file({ key });
    await consume(world, "orders", { run: fail });
    await world.pass(15 * SECOND, { ticks: false });
    const at = world.now();
    const run = async () => {
      await cancelByEvent(world.ctx, { id: "e", topic: "orders", key, at, until: at });
      return { end: "retry-in", wait: MINUTE } as const;
    };
    await consume(world, "orders", { run });
    expect((await told(world, job)).slice(-2)).toEqual(["15 asked-to-retry, run 2", "15 cancelled"]);
    expect(await world.home(job.id)).not.toHaveProperty("lastError");
  });

  test("survives replacing and moving, and stays at ten entries and under 1 KiB", async () => {
    const world = createWorld();
    const job = await world.file({ key, maxAttempts: 100 });
    for (let run = 1; run <= 12; run++) {
      await consume(world, "orders", { run: () => ({ end: "failed", error: "ü".repeat(300) }) });
      await world.pass(3 * MINUTE);
    }
    await world.file({ key, onDuplicate: "replace", delay: HOUR });
    const moved = await reschedule(world.ctx, job.id, { dueAt: world.now() + 2 * HOUR });
    expect(moved.log).toHaveLength(10);
    const run = ["sent", "claimed", "failed", "retried"];
    const events = (await told(world, job)).map((line) => line.split(/[ ,]+/)[1]);
    expect(events).toEqual(["filed", ...run.slice(1), ...run, "moved", "moved"]);
    for (const { error = "" } of moved.log ?? []) expect(Buffer.byteLength(error)).toBeLessThanOrEqual(80);
    expect(bytesOf(moved) - bytesOf({ ...moved, log: [] })).toBeLessThan(1024);
  });

  test("keeps the newest move's reason also if the earlier events fill the log", async () => {
    const world = createWorld();
    const filed = await world.file({ key });
    const error = "the job cannot be handed over: InvalidMessageContents: not allowed in a message";
    const reasons = Array.from({ length: 6 }, (_, i) => `${"order 17 was paid late ".repeat(4)} ${i}`);
    let log: Home["log"];
    for (const [i, reason] of reasons.entries()) {
      const at = START + i * MINUTE;
      const end = { state: "dead", finishedAt: at, expiresAt: at, lastError: error } as const;
      const dead = { ...filed, ...(log && { log }), ...end };
      log = logAfter(dead, at, { what: "moved", dueAt: at, by: actorOf("caller", { reason }) });
    }
    expect(log?.at(-1)?.by?.reason).toBe(reasons.at(-1));
    expect(log?.at(-3)?.by).toEqual(actorOf("caller"));
  });
});
