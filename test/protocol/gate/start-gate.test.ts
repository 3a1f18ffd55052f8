import { describe, expect, test } from "vitest";
import { STARTS_AHEAD } from "../../../src/core/constants.ts";
import { type Home, startsAt } from "../../../src/core/home.ts";
import type { Item } from "../../../src/core/items.ts";
import { addressOf } from "../../../src/core/job-id.ts";
import { parseMessage, startOf } from "../../../src/core/message.ts";
import { summaryOf } from "../../../src/http/job-json.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { enqueue, enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { bookStarts } from "../../../src/protocol/gate/book-starts.ts";
import { findParked } from "../../../src/protocol/hand-over/find-parked.ts";
import { promote } from "../../../src/protocol/hand-over/promote.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import type { Pool } from "../../../src/protocol/ports.ts";
import { send } from "../../../src/protocol/send/send.ts";
import { consume } from "../../support/consume.ts";
import { callsOf, isAt, liveHomes } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const TOPICS = {
  slow: { maxPerSecond: 2 },
  slower: { maxPerSecond: 0.1 },
  free: {},
} as const;
const limited = (): World => createWorld({ topics: TOPICS });

const fileMany = (world: World, topic: string, count: number, delay = 0) =>
  enqueueMany(
    world.ctx,
    Array.from({ length: count }, () => ({ topic, body: "{}", dueAt: world.now() + delay })),
  );
/** A job that repeated calls keep. */
const kept = (world: World) =>
  ({ topic: "slow", key: "a", body: "{}", dueAt: world.now() + MINUTE, onDuplicate: "keep" }) as const;
/** The counters of booked starts. */
const starts = (world: World): Item[] => world.pool.items().filter(({ pk }) => pk.startsWith("starts#"));
/** The start that a job wants if the job never expires. */
const wanted = (start: number) => ({ start, last: Number.POSITIVE_INFINITY });
/** Books starts of a limit of two a second, as processes do that hand jobs over. */
const limitOfTwo = () => {
  const world = limited();
  const now = world.now();
  const limit = { maxPerSecond: 2, counters: "starts", until: now + STARTS_AHEAD } as const;
  const book = (starts: number[]) => bookStarts(world.ctx, "slow", limit, starts.map(wanted));
  return { world, now, book };
};
/** For each job in a topic's queue the start that its message says, and when SQS makes the message visible. */
const sent = (world: World, topic: string) =>
  world.queues
    .messages({ topic })
    .flatMap(({ body, visibleAt }) =>
      (parseMessage(body)?.jobs ?? []).map((job) => ({ id: job.id, start: startOf(job), visibleAt })),
    );
const mostInASecond = (times: readonly number[]): number =>
  Math.max(
    0,
    ...[...Map.groupBy(times, (time) => Math.floor(time / SECOND)).values()].map((at) => at.length),
  );

describe("a limited topic", () => {
  test("starts at most as many jobs in a second as its limit, and notes later starts for the others", async () => {
    const world = limited();
    await fileMany(world, "slow", 7, MINUTE);
    const starts = sent(world, "slow");
    const due = world.now() + MINUTE;
    expect(starts.map(({ start }) => start - due)).toEqual([0, 0, 1000, 1000, 2000, 2000, 3000]);
    for (const { start, visibleAt } of starts) expect(visibleAt).toBe(start);
    const runs = [];
    for (let i = 0; i < 5; i++) {
      await world.pass(i === 0 ? MINUTE : SECOND, { ticks: false });
      runs.push(...(await consume(world, "slow")));
    }
    expect(runs.map(({ at }) => at - due)).toEqual([0, 0, 1000, 1000, 2000, 2000, 3000]);
    expect(await world.home(runs[6]?.id ?? "")).toMatchObject({ dueAt: due, heldUntil: due + 3 * SECOND });
    const first = await world.home(runs[0]?.id ?? "");
    expect(summaryOf(world.ctx, first)).not.toHaveProperty("heldUntil");
    expect(world.events.filter(({ type }) => type === "started").at(-1)).toMatchObject({
      lateMs: 3 * SECOND,
      heldMs: 3 * SECOND,
    });
  });

  test("spreads the backlog of an outage, partly by later looks, and books each job once", async () => {
    const world = limited();
    await world.tick();
    await fileMany(world, "slow", 1000, 10 * MINUTE);
    await world.pass(HOUR, { ticks: false });
    await world.tick();
    const recovered = world.now();
    // SQS has these jobs now. The others have looks in the future.
    const near = sent(world, "slow");
    expect(near.length).toBeLessThan(450);
    expect(mostInASecond(near.map(({ start }) => start))).toBe(2);
    const started: number[] = [];
    while (started.length < 1000 && world.now() < recovered + HOUR) {
      for (const { at } of await consume(world, "slow")) started.push(at);
      await world.pass(SECOND);
    }
    expect(started).toHaveLength(1000);
    // They start at two a second, not slower.
    expect(mostInASecond(started)).toBe(2);
    expect(world.now() - recovered).toBeLessThan(520 * SECOND);
    const counted = world.pool.items().filter(({ pk }) => pk.startsWith("starts#"));
    const booked = counted.flatMap((item) => Object.entries(item).filter(([name]) => /^s\d+$/.test(name)));
    const total = booked.reduce((sum, [, count]) => sum + Math.min(Number(count), 2), 0);
    expect(total).toBeLessThan(1020);
  });

  test("below one a second starts a job each so many seconds", async () => {
    const world = limited();
    await fileMany(world, "slower", 4);
    const starts = sent(world, "slower").map(({ start }) => start - world.now());
    expect(starts).toEqual([0, 10_000, 20_000, 30_000]);
  });

  test("keeps to its limit for jobs that many callers file one by one at the same time", async () => {
    const world = limited();
    await Promise.all(Array.from({ length: 10 }, () => world.file({ topic: "slow", delay: 30 * SECOND })));
    expect(mostInASecond(sent(world, "slow").map(({ start }) => start))).toBe(2);
  });

  test("parks jobs that get no start within about a minute: they can be cancelled, and their homes do not change", async () => {
    const world = limited();
    await fileMany(world, "slow", 500);
    const ids = new Set(sent(world, "slow").map(({ id }) => id));
    expect(ids.size).toBe((2 * STARTS_AHEAD) / SECOND);
    const later = liveHomes(world).filter(({ id }) => !ids.has(id));
    expect(later).toHaveLength(500 - ids.size);
    for (const home of later) expect(home).not.toHaveProperty("heldUntil");
    await cancel(world.ctx, later[0]?.id ?? "");
    let runs = 0;
    for (let i = 0; i < 300; i++) {
      await world.pass(SECOND);
      runs += (await consume(world, "slow")).length;
    }
    expect(runs).toBe(499);
  });

  test("is resumed within its limit", async () => {
    const world = limited();
    await pauseTopic(world.ctx, "slow");
    await fileMany(world, "slow", 20);
    await resume(world.ctx, "slow", undefined);
    expect(mostInASecond(sent(world, "slow").map(({ start }) => start))).toBe(2);
  });

  test("does not book a second start for a job when the audit or a second sweep sends it again", async () => {
    const world = limited();
    await world.tick();
    await fileMany(world, "slow", 100, 5 * MINUTE);
    await world.pass(5 * MINUTE);
    const given = world.pool.items().filter((item) => "heldUntil" in item) as Home[];
    expect(given.length).toBeGreaterThan(50);
    const before = starts(world);
    await send(world.ctx, given);
    const { parked } = await findParked(world.ctx, given);
    await send(world.ctx, given, { parked });
    expect(starts(world)).toEqual(before);
    expect((await Promise.all(given.map(({ id }) => world.home(id)))).map(startsAt)).toEqual(
      given.map(startsAt),
    );
  });

  test("gives at most one more start to a job that many calls keep", async () => {
    const world = limited();
    const job = kept(world);
    for (let i = 0; i < 10; i++) await enqueue(world.ctx, job);
    const [counted] = starts(world);
    const booked = Object.entries(counted ?? {}).filter(([name]) => /^s\d+$/.test(name));
    expect(booked.map(([, count]) => count)).toEqual([2]);
  });

  test("whose counter is throttled does not keep other topics' jobs from being sent", async () => {
    const world = limited();
    const jobs = [
      await world.file({ topic: "slow", delay: HOUR }),
      await world.file({ topic: "free", delay: HOUR }),
    ];
    await world.pass(HOUR - MINUTE, { ticks: false });
    const count = async (): Promise<never> => {
      // The message of the other topic is sent while this one is repeated.
      await new Promise(setImmediate);
      await world.pass(2 * MINUTE, { ticks: false });
      throw new Error("throttled until the deadline");
    };
    await send({ ...world.ctx, pool: { ...world.pool, count } }, jobs);
    expect(sent(world, "slow")).toEqual([]);
    expect(sent(world, "free")).toHaveLength(1);
  });

  test("leaves no free second before a full one", async () => {
    const { now, book } = limitOfTwo();
    const ahead = now + MINUTE;
    expect(await book([ahead, ahead, ahead])).toEqual([ahead, ahead, ahead + SECOND]);
    expect(await book([ahead])).toEqual([ahead + SECOND]);
    expect(await book([now])).toEqual([now]);
  });

  test("beyond its bound gives a job only its own second, and at most half of a minute's starts", async () => {
    const { now, book } = limitOfTwo();
    const far = Array.from({ length: 180 }, (_, i) => now + 2 * MINUTE + Math.floor(i / 3) * SECOND);
    const given = (await book(far)).filter((start) => start !== undefined);
    expect(given).toHaveLength(60);
    expect(mostInASecond(given)).toBe(2);
    const near = await book(Array.from({ length: 300 }, () => now));
    expect(near.filter((start) => start !== undefined)).toHaveLength((2 * STARTS_AHEAD) / SECOND);
  });

  test("uses the counters of at most three minutes, however many jobs wait, and reads none if no job waits", async () => {
    const { world, now, book } = limitOfTwo();
    expect(await callsOf(world, () => book([now]))).toMatchObject([{ operation: "count" }]);
    await book(Array.from({ length: 10_000 }, () => now));
    const calls = await callsOf(world, () => book([now]));
    expect(calls.map(({ operation }) => operation)).toEqual(["count", "read"]);
    expect(calls.flatMap(({ keys }) => keys).length).toBeLessThanOrEqual(4);
  });

  test("costs a job one call more than a topic without a limit if no job waits: the counter", async () => {
    const world = limited();
    const operationsOf = async (topic: string) => {
      await world.file({ topic, delay: MINUTE });
      const calls = await callsOf(world, () => world.file({ topic, delay: MINUTE }));
      return calls.flatMap(({ operation, keys }) => (keys.length === 0 ? [] : operation));
    };
    const without = await operationsOf("free");
    expect(without).not.toContain("count");
    expect((await operationsOf("slow")).toSorted()).toEqual(["count", ...without].toSorted());
  });

  test("shares the starts among many who book at once with few calls each, whatever the limit", async () => {
    for (const maxPerSecond of [1 / 60, 2]) {
      const world = limited();
      const limit = { maxPerSecond, counters: "starts", until: world.now() + STARTS_AHEAD } as const;
      const starts = Array.from({ length: 500 }, () => wanted(world.now()));
      let given: (number | undefined)[][] = [];
      const calls = await callsOf(world, async () => {
        given = await Promise.all(
          Array.from({ length: 32 }, () => bookStarts(world.ctx, "slow", limit, starts)),
        );
      });
      expect(given.flat().filter((start) => start !== undefined)).toHaveLength(maxPerSecond === 2 ? 150 : 2);
      expect(calls.length).toBeLessThan(32 * 8);
    }
  });

  test("counts a job few times though hundreds of callers file one each at once", async () => {
    const world = createWorld({ topics: { slow: { maxPerSecond: 5 } } });
    const file = () => Promise.all(Array.from({ length: 300 }, () => world.file({ topic: "slow" })));
    const counts = (await callsOf(world, file)).filter(({ operation }) => operation === "count");
    expect(counts.length).toBeLessThan(4 * 300);
    const times = world.queues
      .messages({ topic: "slow" })
      .flatMap(({ body }) => parseMessage(body)?.jobs.map(startOf) ?? []);
    const seconds = [...Map.groupBy(times, (time) => Math.floor(time / SECOND)).values()].map(
      (at) => at.length,
    );
    expect(Math.max(...seconds)).toBe(5);
    expect(seconds.length).toBeGreaterThan(55);
  });

  test.each([1, 5])(
    "lets no job have a start that passed while its counter did not answer for %i s",
    async (seconds) => {
      const world = createWorld({ topics: { slow: { maxPerSecond: 5 } } });
      let isSlow = true;
      const count: Pool["count"] = async (...asked) => {
        if (isSlow) await world.pass(seconds * SECOND, { ticks: false });
        isSlow = false;
        return world.pool.count(...asked);
      };
      const jobs = Array.from({ length: 5 }, () => ({ topic: "slow", body: "{}", dueAt: world.now() }));
      const begun = world.now();
      await enqueueMany({ ...world.ctx, pool: { ...world.pool, count } }, jobs);
      const times = world.queues
        .messages({ topic: "slow" })
        .flatMap(({ body }) => parseMessage(body)?.jobs.map(startOf) ?? []);
      expect(times).toHaveLength(5);
      expect(Math.min(...times)).toBeGreaterThanOrEqual(begun + seconds * SECOND);
    },
  );

  test.each([
    ["keyed", (i: number) => ({ key: `key ${i}` })],
    ["with an Idempotency-Key each", (i: number) => ({ once: { token: `t${i}`, hash: "h", lasts: MINUTE } })],
  ])("books starts together for jobs of a batch that are filed one by one (%s)", async (_, more) => {
    const world = createWorld({ topics: { t: { maxPerSecond: 10 } } });
    await world.tick();
    const calls: string[] = [];
    world.pool.hooks.before = async ({ operation, keys }) => {
      if (operation === "count") calls.push("count");
      for (const { pk } of keys) if (operation === "read" && pk === "pause#t") calls.push("pause");
      await new Promise(setImmediate);
    };
    const jobs = Array.from({ length: 500 }, (_, i) => ({
      topic: "t",
      body: "{}",
      dueAt: world.now(),
      ...more(i),
    }));
    await enqueueMany(world.ctx, jobs);
    expect(calls.filter((call) => call === "count").length).toBeLessThan(60);
    expect(calls.filter((call) => call === "pause").length).toBeLessThan(60);
  });

  test("asks a counter that takes longer than a second for starts that are still to come", async () => {
    const world = createWorld({ topics: { slow: { maxPerSecond: 5 } } });
    let asked = 0;
    const count: Pool["count"] = async (...amounts) => {
      asked += 1;
      await world.pass(1100, { ticks: false });
      return world.pool.count(...amounts);
    };
    const jobs = Array.from({ length: 5 }, () => ({ topic: "slow", body: "{}", dueAt: world.now() }));
    await enqueueMany({ ...world.ctx, pool: { ...world.pool, count } }, jobs);
    expect(asked).toBe(2);
    expect(sent(world, "slow")).toHaveLength(5);
  });

  test("does not move a job that its schedule sends four minutes ahead if the limit does not hold it", async () => {
    const world = limited();
    const { id } = await world.file({ topic: "slow", delay: 4 * MINUTE });
    await promote(world.ctx, id);
    expect(sent(world, "slow")).toMatchObject([{ id, visibleAt: world.now() + 4 * MINUTE }]);
    expect(await world.home(id)).toMatchObject({ revision: 0 });
    expect(world.events.map(({ type }) => type)).not.toContain("deferred");
  });

  test("whose writer dies between the start and the message is found by the audit", async () => {
    const world = limited();
    await world.tick();
    const counted = new Promise<void>((resolve) => {
      world.pool.hooks.after = ({ operation }) => {
        if (operation !== "count") return;
        resolve();
        return new Promise(() => {});
      };
    });
    void world.file({ topic: "slow", delay: 0 });
    await counted;
    delete world.pool.hooks.after;
    const [home] = liveHomes(world);
    expect(sent(world, "slow")).toEqual([]);
    await world.pass(20 * MINUTE);
    expect(await consume(world, "slow")).toMatchObject([{ id: home?.id }]);
  });

  test("whose counters fail gets looks for its jobs and a report, and delays no other topic", async () => {
    const world = limited();
    world.pool.hooks.before = (call) => {
      if (isAt("starts#", "count")(call)) throw new Error("down");
    };
    await fileMany(world, "free", 1, 10 * MINUTE);
    await fileMany(world, "slow", 2);
    const type = "hand-over-failed";
    expect(world.events).toContainEqual({ type, topic: "slow", jobs: 2, reason: "down" });
    await fileMany(world, "slow", 1, 10 * MINUTE);
    await world.pass(9 * MINUTE);
    expect(sent(world, "free")).toHaveLength(1);
    expect(sent(world, "slow")).toEqual([]);
    delete world.pool.hooks.before;
    await world.pass(10 * MINUTE);
    expect(new Set(sent(world, "slow").map(({ id }) => id)).size).toBe(3);
  });
});

test("a job that waits in SQS behind slow consumers keeps its start for an hour, gets others later, and runs once", async () => {
  const world = limited();
  const count = 1000;
  await fileMany(world, "slow", count);
  await world.pass(20 * MINUTE);
  const before = new Map(liveHomes(world).map(({ id, heldUntil }) => [id, heldUntil]));
  const counted = starts(world);
  await world.pass(30 * MINUTE);
  for (const { id, heldUntil } of liveHomes(world)) expect(heldUntil).toBe(before.get(id));
  expect(starts(world)).toEqual(counted);
  await world.pass(4 * HOUR);
  expect(liveHomes(world).filter(({ id, heldUntil }) => heldUntil !== before.get(id))).not.toEqual([]);
  const runs: string[] = [];
  for (const end = world.now() + HOUR; world.now() < end; ) {
    runs.push(...(await consume(world, "slow")).map(({ id }) => id));
    await world.pass(SECOND);
  }
  expect(runs).toHaveLength(count);
  expect(new Set(runs).size).toBe(count);
});

test("jobs whose messages were lost, or never sent, share their limit when they are sent again", async () => {
  const world = limited();
  await world.tick();
  await fileMany(world, "slow", 100, 5 * MINUTE);
  await world.pass(9 * MINUTE);
  world.queues.purge({ topic: "slow" });
  const times: number[] = [];
  for (let i = 0; i < 20 * 60 && times.length < 100; i++) {
    await world.pass(SECOND);
    for (const { at } of await consume(world, "slow")) times.push(at);
  }
  expect(times).toHaveLength(100);
  expect(mostInASecond(times)).toBe(2);
});

test("a topic without a limit counts nothing", async () => {
  const world = limited();
  await fileMany(world, "free", 20);
  expect(world.pool.items().filter(({ pk }) => pk.startsWith("starts#"))).toEqual([]);
  expect(sent(world, "free").map(({ start }) => start)).toEqual(Array(20).fill(world.now()));
  expect(addressOf(sent(world, "free")[0]?.id ?? "").time).toBe(world.now());
});
