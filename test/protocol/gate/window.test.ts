import { describe, expect, test } from "vitest";
import { DAY } from "../../../src/core/constants.ts";
import type { Home } from "../../../src/core/home.ts";
import { parseMessage, startOf } from "../../../src/core/message.ts";
import { summaryOf } from "../../../src/http/job-json.ts";
import { type Bulk, type BulkRequest, beginBulk } from "../../../src/protocol/change/begin-bulk.ts";
import { runBulk } from "../../../src/protocol/change/bulk.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { bookStarts } from "../../../src/protocol/gate/book-starts.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import { send } from "../../../src/protocol/send/send.ts";
import { consume } from "../../support/consume.ts";
import { callsOf, fail, isAt, isLook, meanwhile, pull } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

// The world begins at 09:00 UTC, which is 17:00 in Shanghai: an hour before these windows close, for an hour.
const window = "19:00-18:00 Asia/Shanghai";
const CLOSES = START + HOUR;
const OPENS = START + 2 * HOUR;
const windowed = (): World =>
  createWorld({
    topics: {
      day: { window },
      slow: { window, maxPerSecond: 2 },
      precise: { window, precision: "millisecond" },
      pulled: { window, consumer: "pull" },
      gone: { window: "09:00-18:00 Mars/Olympus" },
      short: { window: "09:14-09:04 UTC" },
    },
  });

/** For each message of a topic, the start of its job. */
const sent = (world: World, topic: string): number[] =>
  world.queues.messages({ topic }).flatMap(({ body }) => (parseMessage(body)?.jobs ?? []).map(startOf));
const writesOf = async (world: World, act: () => Promise<unknown>): Promise<string[]> => {
  const ofJobs = (await callsOf(world, act)).filter(({ keys }) => keys.some(({ pk }) => /^\d{4}-/.test(pk)));
  return ofJobs.map(({ operation }) => operation).filter((one) => one !== "read" && one !== "page");
};
const held = async (world: World, { id }: Home) => {
  const { dueAt, heldUntil, revision } = await world.home(id);
  return { dueAt, heldUntil, revision };
};

describe("a topic with a window", () => {
  test("runs jobs that are due inside it like any other topic, without an additional write", async () => {
    const world = windowed();
    const job = await world.file({ topic: "day", delay: HOUR - 1 });
    await world.pass(58 * MINUTE, { ticks: false });
    expect(await writesOf(world, world.tick)).toEqual([]);
    expect(sent(world, "day")).toEqual([CLOSES - 1]);
    expect(await held(world, job)).toEqual({ dueAt: CLOSES - 1, revision: 0 });
  });

  test("holds a job that is due outside of it until it opens, with an unchanged due time and two writes in all", async () => {
    const world = windowed();
    const job = await world.file({ topic: "day", delay: 90 * MINUTE });
    await world.pass(87 * MINUTE);
    expect(await writesOf(world, () => world.pass(MINUTE))).toEqual(["insert", "changeMany"]);
    const hold = { dueAt: CLOSES + 30 * MINUTE, heldUntil: OPENS, revision: 1 };
    expect(await held(world, job)).toEqual(hold);
    expect(summaryOf(world.ctx, await world.home(job.id))).toMatchObject({
      heldUntil: "2026-03-01T11:00:00.000Z",
    });
    await world.pass(30 * MINUTE);
    expect(await held(world, job)).toEqual(hold);
    expect(sent(world, "day")).toEqual([OPENS]);
    // A job that waits for its opening is not overdue.
    expect(world.events.filter((event) => event.type === "audited" && event.found > 0)).toEqual([]);
    await world.pass(2 * MINUTE);
    expect((await consume(world, "day")).map(({ at }) => at)).toEqual([OPENS]);
    expect(world.events.findLast(({ type }) => type === "started")).toMatchObject({
      lateMs: 30 * MINUTE,
      heldMs: 30 * MINUTE,
    });
  });

  test("counts only the jobs whose later starts were stored as deferred", async () => {
    const world = windowed();
    const filed = [
      await world.file({ topic: "day", delay: 90 * MINUTE }),
      await world.file({ topic: "day", delay: 91 * MINUTE }),
    ];
    const { changeMany } = world.ctx.pool;
    const pool: typeof world.ctx.pool = {
      ...world.ctx.pool,
      changeMany: async (changes, ...rest) => {
        const outcomes = await changeMany(changes, ...rest);
        const unanswered = changes.findIndex(({ key: { sk } }) => sk.endsWith(filed[0]?.id ?? ""));
        return outcomes.with(unanswered, new Error("no answer"));
      },
    };
    await world.pass(88 * MINUTE, { ticks: false });
    await send({ ...world.ctx, pool }, await Promise.all(filed.map(({ id }) => world.home(id))));
    expect(world.events.filter(({ type }) => type === "deferred")).toMatchObject([{ topic: "day", jobs: 1 }]);
  });

  test("costs a job that waits for it two writes, counted to its end", async () => {
    const lifeOf = async (delay: number, starts: number): Promise<string[]> => {
      const world = windowed();
      await world.file({ topic: "day", delay });
      return writesOf(world, async () => {
        await world.pass(starts);
        expect(await consume(world, "day")).toHaveLength(1);
        await world.pass(HOUR);
      });
    };
    const any = await lifeOf(30 * MINUTE, 30 * MINUTE);
    expect(await lifeOf(90 * MINUTE, 2 * HOUR)).toEqual(["insert", "changeMany", ...any]);
  });

  test("runs a job for which an audit has given a start and died before sending it", async () => {
    const world = windowed();
    const job = await world.file({ topic: "short", delay: 3 * MINUTE });
    await world.pass(5 * MINUTE);
    world.queues.purge({ topic: "short" });
    const send = () => Promise.reject(new Error("crash"));
    const dead = { ...world.ctx, queues: { ...world.queues, send } };
    while ((await world.home(job.id)).heldUntil === undefined) {
      await world.pass(MINUTE, { ticks: false });
      await tick(dead, world.now() + MINUTE).catch(() => {});
    }
    expect(await held(world, job)).toMatchObject({ heldUntil: START + 14 * MINUTE, revision: 1 });
    await world.pass(30 * MINUTE);
    expect(await consume(world, "short")).toMatchObject([{ id: job.id }]);
  });

  test("keeps jobs in SQS if it opens soon, and gives them a start once however often they are sent", async () => {
    const world = windowed();
    await world.pass(2 * HOUR - 2 * MINUTE, { ticks: false });
    const job = await world.file({ topic: "day" });
    expect(sent(world, "day")).toEqual([OPENS]);
    const hold = { dueAt: OPENS - 2 * MINUTE, heldUntil: OPENS, revision: 1 };
    expect(await held(world, job)).toEqual(hold);
    expect(await writesOf(world, () => world.pass(MINUTE))).toEqual([]);
    expect(await held(world, job)).toEqual(hold);
  });

  test("sends a job even if it opens between two reads of the clock", async () => {
    const world = windowed();
    const job = await world.file({ topic: "day", delay: 90 * MINUTE });
    await world.pass(2 * HOUR - 1, { ticks: false });
    for (let looks = 0; looks < 10; looks++) {
      let looked = 0;
      const ctx = { ...world.ctx, clock: () => OPENS - (looked++ < looks ? 1 : 0) };
      const home = await world.home(job.id);
      expect((await send(ctx, [home])).get(job.id)).toEqual({ outcome: "sent" });
    }
  });

  test("starts precise jobs at the opening, not before", async () => {
    const world = windowed();
    await world.file({ topic: "precise", delay: 90 * MINUTE });
    await world.pass(2 * HOUR - 500);
    expect((await consume(world, "precise")).map(({ at }) => at)).toEqual([OPENS]);
  });

  test("lets jobs that were sent start late, and jobs that are looked at again wait for the next opening", async () => {
    const world = windowed();
    const slow = await world.file({ topic: "day", delay: HOUR - 2 * SECOND });
    const lost = await world.file({ topic: "day", delay: HOUR - SECOND });
    await world.pass(HOUR);
    expect(await consume(world, "day", { max: 1 })).toMatchObject([{ id: slow.id, at: CLOSES }]);
    world.queues.purge({ topic: "day" });
    await world.pass(20 * MINUTE);
    expect(await held(world, lost)).toMatchObject({ heldUntil: OPENS, revision: 1 });
    await world.pass(HOUR);
    expect((await consume(world, "day")).map(({ id }) => id)).toEqual([lost.id]);
  });

  test("holds retries, and jobs that are told to run now", async () => {
    const world = windowed();
    const retried = await world.file({ topic: "day", delay: HOUR - SECOND });
    const waiting = await world.file({ topic: "day", delay: 30 * HOUR });
    await world.pass(HOUR);
    await consume(world, "day", { run: fail });
    await reschedule(world.ctx, waiting.id, { dueAt: world.now() });
    expect(await held(world, retried)).toMatchObject({ dueAt: CLOSES + 15 * SECOND, heldUntil: OPENS });
    expect(await held(world, waiting)).toMatchObject({ dueAt: CLOSES, heldUntil: OPENS });
    // A new body alone changes no time.
    await reschedule(world.ctx, waiting.id, { body: "1" });
    expect(await held(world, waiting)).toMatchObject({ dueAt: CLOSES, heldUntil: OPENS });
    await world.pass(HOUR);
    expect((await consume(world, "day")).map(({ at }) => at)).toEqual([OPENS, OPENS]);
  });

  test("books no start of a limited topic while it is closed, however many jobs wait", async () => {
    const world = windowed();
    await world.pass(HOUR - 10 * SECOND, { ticks: false });
    await enqueueMany(
      world.ctx,
      Array.from({ length: 50 }, () => ({ topic: "slow", body: "{}", dueAt: world.now() })),
    );
    expect(sent(world, "slow").filter((start) => start < CLOSES)).toHaveLength(20);
    await world.pass(10 * SECOND, { ticks: false });
    for (let runs = 0; runs < 20; ) runs += (await consume(world, "slow")).length;
    await world.pass(HOUR + MINUTE);
    const starts = sent(world, "slow").filter((start) => start >= CLOSES);
    expect(starts).toHaveLength(30);
    expect([Math.min(...starts), Math.max(...starts)]).toEqual([OPENS, OPENS + 14 * SECOND]);
    const counted = world.pool.items().filter(({ pk }) => pk.startsWith("starts#"));
    expect(counted.map(({ pk }) => pk)).toEqual([
      "starts#slow#2026-03-01T09:59",
      "starts#slow#2026-03-01T11:00",
    ]);
  });

  test("parks jobs that its limit does not start before it closes, and reads nothing until it opens", async () => {
    const world = windowed();
    await world.pass(HOUR - 10 * SECOND, { ticks: false });
    await enqueueMany(
      world.ctx,
      Array.from({ length: 50 }, () => ({ topic: "slow", body: "{}", dueAt: world.now() })),
    );
    await world.pass(20 * MINUTE);
    const calls = await callsOf(world, world.tick);
    expect(calls.filter(({ keys }) => keys.some(({ pk }) => pk.startsWith("paused#")))).toEqual([]);
  });

  test("holds jobs that a limit has parked, even if a deployment removes the limit", async () => {
    const world = windowed();
    await world.pass(HOUR);
    const topic = "slow";
    await enqueueMany(world.ctx, Array(5).fill({ topic, body: "{}", dueAt: world.now() }));
    const deployed = { ...world.ctx, policy: { ...world.ctx.policy, topics: { slow: { window } } } };
    await world.pass(MINUTE, { ticks: false });
    await tick(deployed, world.now() + 150 * SECOND);
    expect(sent(world, topic)).toEqual([]);
    while (world.now() < OPENS) {
      await world.pass(MINUTE, { ticks: false });
      await tick(deployed, world.now() + 150 * SECOND);
    }
    expect(sent(world, topic)).toEqual(Array(5).fill(OPENS));
  });

  test("keeps to a limit whose periods begin before the opening", async () => {
    const { ctx } = windowed();
    const wanted = { start: START + 208 * SECOND, last: Number.POSITIVE_INFINITY };
    const window = "08:58-09:04 UTC";
    const limit = { maxPerSecond: 1 / 16, counters: "starts", window, until: START + 2 * DAY } as const;
    const starts = await bookStarts(ctx, "slow", limit, [wanted, wanted, wanted]);
    const written = starts.map((start = 0) => new Date(start).toISOString().slice(8, 19));
    expect(written).toEqual(["01T09:03:28", "01T09:03:44", "02T08:58:00"]);
  });

  test("gives a resume's jobs their starts inside it, at its rate", async () => {
    const world = windowed();
    await pauseTopic(world.ctx, "day");
    const jobs = await Promise.all([1, 2, 3].map(() => world.file({ topic: "day", delay: 30 * MINUTE })));
    await world.pass(HOUR - 10 * SECOND);
    await resume(world.ctx, "day", 0.1);
    expect(await consume(world, "day")).toHaveLength(1);
    await world.pass(HOUR + MINUTE);
    const starts = await Promise.all(jobs.map(async ({ id }) => (await world.home(id)).heldUntil));
    expect(starts.sort()).toEqual([CLOSES - 10 * SECOND, OPENS, OPENS + 10 * SECOND]);
    const later = await Promise.all(jobs.map(({ id }) => held(world, { id } as Home)));
    for (const { revision } of later) expect(revision).toBe(1);
  });

  test.for(["day", "slow"])(
    "starts no job of topic %s while it is closed, even if a release freezes",
    async (topic) => {
      const world = windowed();
      await pauseTopic(world.ctx, topic);
      await world.file({ topic });
      await world.pass(HOUR - MINUTE);
      world.pool.hooks.after = async ({ operation }) => {
        if (operation !== "changeMany") return;
        delete world.pool.hooks.after;
        await world.pass(5 * MINUTE, { ticks: false });
      };
      await resume(world.ctx, topic, undefined);
      expect(world.now()).toBeGreaterThan(CLOSES);
      expect(sent(world, topic)).toEqual([]);
      await world.pass(HOUR);
      expect(sent(world, topic)).toEqual([OPENS]);
    },
  );

  test("gives the jobs of a bulk, or of a redrive, their starts inside it, at their rate", async () => {
    const world = windowed();
    await world.tick();
    const jobs = 300;
    const dead = Array.from({ length: jobs }, () => ({
      topic: "day",
      body: "{}",
      dueAt: world.now(),
      maxAttempts: 1,
    }));
    await enqueueMany(world.ctx, dead);
    while (world.visible("day").length > 0) await consume(world, "day", { run: fail });
    await enqueueMany(
      world.ctx,
      dead.map((job) => ({ ...job, dueAt: OPENS + HOUR })),
    );
    await world.pass(CLOSES - 2 * MINUTE - world.now());
    await redrive(world.ctx, "day", { max: jobs, delay: 0, ratePerSecond: 1 });
    const request: BulkRequest = { action: "run", topic: "day", dryRun: false, ratePerSecond: 1 };
    let at: Bulk | undefined = beginBulk(world.ctx, "run", { from: OPENS, to: OPENS + 2 * HOUR });
    while (at) at = (await runBulk(world.ctx, request, at)).next;
    const runs: number[] = [];
    while (runs.length < 2 * jobs && world.now() < OPENS + HOUR) {
      await world.pass(SECOND);
      runs.push(...(await consume(world, "day")).map((run) => run.at));
    }
    expect(runs).toHaveLength(2 * jobs);
    expect(runs.filter((time) => time >= CLOSES && time < OPENS)).toEqual([]);
    // Two starts a second: one of each rate.
    expect(runs.filter((time) => time < OPENS).length).toBeGreaterThan(200);
    for (let second = OPENS; second < OPENS + 3 * MINUTE; second += SECOND)
      expect(runs.filter((time) => time >= second && time < second + SECOND).length).toBeLessThanOrEqual(4);
  });

  test("sends no job by what a process read before it froze", async () => {
    const world = windowed();
    await world.pass(HOUR - MINUTE);
    const near = { topic: "day", body: "{}" };
    meanwhile(world, isLook, () => world.pass(5 * MINUTE, { ticks: false }));
    const jobs = [
      { ...near, dueAt: world.now() },
      { ...near, dueAt: CLOSES + MINUTE },
    ];
    await enqueueMany(world.ctx, jobs);
    expect(sent(world, "day")).toEqual([]);
    await world.pass(HOUR);
    expect(sent(world, "day")).toEqual([OPENS, OPENS]);
  });

  test("holds a job to which another process gave a start just before it closed, and did not send", async () => {
    const world = windowed();
    await world.pass(HOUR - 30 * SECOND);
    world.pool.hooks.before = async ({ operation, keys: [key] }) => {
      if (operation !== "changeMany" || key === undefined) return;
      delete world.pool.hooks.before;
      const set = { revision: 1, heldUntil: world.now() };
      await world.pool.change({ key, expect: {}, set }, Number.POSITIVE_INFINITY);
      await world.pass(40 * SECOND, { ticks: false });
    };
    await world.file({ topic: "day", delay: 45 * SECOND });
    expect(sent(world, "day")).toEqual([]);
    await world.pass(HOUR);
    expect(sent(world, "day")).toEqual([OPENS]);
  });

  test("lets a bulk run its waiting jobs of the past, but not those that may start already", async () => {
    const world = createWorld({ topics: { calls: { window: "20:00-21:00 UTC" }, orders: {} } });
    const held = await world.file({ topic: "calls", delay: 0 });
    const due = await world.file({ topic: "orders", delay: 0 });
    await world.pass(2 * MINUTE);
    const { revision, heldUntil = 0 } = await world.home(held.id);
    expect(heldUntil).toBeGreaterThan(START + HOUR);
    const range = { from: START - HOUR, to: START + HOUR };
    const run = (topic: string) =>
      runBulk(world.ctx, { action: "run", topic, dryRun: false }, beginBulk(world.ctx, "run", range));
    expect(await run("calls")).toMatchObject({ matched: 1, changed: 1 });
    expect((await world.home(held.id)).revision).toBeGreaterThan(revision);
    expect(await run("orders")).toMatchObject({ matched: 0, changed: 0 });
    expect((await world.home(due.id)).revision).toBe(0);
  });

  test("hands out pulled jobs only while it is open", async () => {
    const world = windowed();
    await world.file({ topic: "pulled", delay: 90 * MINUTE });
    await world.pass(2 * HOUR - 10 * SECOND);
    expect(await pull(world, "pulled")).toEqual([]);
    await world.pass(10 * SECOND);
    expect(await pull(world, "pulled")).toHaveLength(1);
  });

  test("in a zone that this runtime does not know holds its own jobs, and no jobs of other topics", async () => {
    const world = windowed();
    const job = await world.file({ topic: "gone", delay: 10 * MINUTE });
    const other = await world.file({ topic: "day", delay: 10 * MINUTE });
    await world.pass(11 * MINUTE);
    expect((await consume(world, "day")).map(({ id }) => id)).toEqual([other.id]);
    expect(await world.home(job.id)).toMatchObject({ state: "scheduled" });
    expect(
      world.pool.items().filter((item) => isAt("2026-03-01T09:1")({ operation: "", keys: [item] })).length,
    ).toBeGreaterThan(2);
  });
});
