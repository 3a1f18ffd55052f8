import { describe, expect, test } from "vitest";
import { addressOf } from "../../core/job-id.ts";
import { parseMessage, startOf } from "../../core/message.ts";
import { summaryOf } from "../../http/job-json.ts";
import { bookStarts } from "../../protocol/book-starts.ts";
import { cancel } from "../../protocol/cancel.ts";
import { enqueueMany } from "../../protocol/enqueue.ts";
import { pause } from "../../protocol/pause.ts";
import { promote } from "../../protocol/promote.ts";
import { resume } from "../../protocol/release.ts";
import { tick } from "../../protocol/tick.ts";
import { consume } from "./consume.ts";
import { isAt, liveHomes } from "./scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "./world.ts";

const TOPICS = {
  slow: { maxPerSecond: 2 },
  slower: { maxPerSecond: 0.1 },
  loose: { maxPerSecond: 2, consumer: "pull", tracking: "none" },
  free: {},
} as const;
const limited = (): World => createWorld({ topics: TOPICS });

const fileMany = (world: World, topic: string, count: number, delay = 0) =>
  enqueueMany(
    world.ctx,
    Array.from({ length: count }, () => ({ topic, body: "{}", dueAt: world.now() + delay })),
  );
/** When each job in a topic's queue starts by its message, and when SQS lets it go. */
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
  test("starts no more jobs in a second than its limit, the others in the seconds after, saying so", async () => {
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

  test("spreads what an outage has left behind, part of it by later looks, each job booked once", async () => {
    const world = limited();
    await world.tick();
    await fileMany(world, "slow", 1000, 10 * MINUTE);
    await world.pass(HOUR, { ticks: false });
    await world.tick();
    const recovered = world.now();
    // What SQS can hold for now; the rest has its looks ahead.
    const near = sent(world, "slow");
    expect(near.length).toBeLessThan(450);
    expect(mostInASecond(near.map(({ start }) => start))).toBe(2);
    const started: number[] = [];
    while (started.length < 1000 && world.now() < recovered + HOUR) {
      for (const { at } of await consume(world, "slow")) started.push(at);
      await world.pass(SECOND);
    }
    expect(started).toHaveLength(1000);
    // At two a second and no slower.
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

  test("shapes jobs that are filed one by one, by many at once", async () => {
    const world = limited();
    await Promise.all(Array.from({ length: 10 }, () => world.file({ topic: "slow", delay: 30 * SECOND })));
    expect(mostInASecond(sent(world, "slow").map(({ start }) => start))).toBe(2);
  });

  test("moves what would start too far ahead for SQS, cancellable till then", async () => {
    const world = limited();
    await fileMany(world, "slow", 500);
    const ids = new Set(sent(world, "slow").map(({ id }) => id));
    const later = liveHomes(world).filter(({ id }) => !ids.has(id));
    expect(later).toHaveLength(500 - ids.size);
    for (const home of later.slice(0, 3)) expect(await world.home(home.id)).toMatchObject({ revision: 1 });
    await cancel(world.ctx, later[0]?.id ?? "");
    let runs = 0;
    for (let i = 0; i < 300; i++) {
      await world.pass(SECOND);
      runs += (await consume(world, "slow")).length;
    }
    expect(runs).toBe(499);
  });

  test("of untracked jobs stores what it holds longer than SQS can", async () => {
    const world = limited();
    const filed = await fileMany(world, "loose", 500);
    expect(filed.every((result) => "home" in result)).toBe(true);
    const ids = new Set(sent(world, "loose").map(({ id }) => id));
    expect(ids.size).toBeLessThan(430);
    expect(mostInASecond(sent(world, "loose").map(({ start }) => start))).toBe(2);
    const stored = world.pool.items().filter((item) => "untracked" in item);
    expect(stored).toHaveLength(500 - ids.size);
    await world.pass(5 * MINUTE);
    expect(new Set(sent(world, "loose").map(({ id }) => id)).size).toBe(500);
  });

  test("is resumed within its limit", async () => {
    const world = limited();
    await pause(world.ctx, "slow");
    await fileMany(world, "slow", 20);
    await resume(world.ctx, "slow", undefined);
    expect(mostInASecond(sent(world, "slow").map(({ start }) => start))).toBe(2);
  });

  test("does not count what has a start already, when the audit or a second sweep sends it again", async () => {
    const world = limited();
    await world.tick();
    await fileMany(world, "slow", 900, 5 * MINUTE);
    await world.pass(4 * MINUTE);
    const before = world.pool.items().filter(({ pk }) => pk.startsWith("starts#"));
    const moved = world.pool.items().filter((item) => "heldUntil" in item);
    expect(moved.length).toBeGreaterThan(100);
    await world.pass(MINUTE);
    expect(world.pool.items().filter(({ pk }) => pk.startsWith("starts#"))).toEqual(before);
  });

  test("passes over no second before those that are full", async () => {
    const world = limited();
    const now = world.now();
    const ahead = now + MINUTE + 15 * SECOND;
    const wanted = [ahead, ahead, ahead];
    expect(await bookStarts(world.ctx, "slow", 2, wanted)).toEqual([ahead, ahead, ahead + SECOND]);
    expect(await bookStarts(world.ctx, "slow", 2, [ahead])).toEqual([ahead + SECOND]);
    expect(await bookStarts(world.ctx, "slow", 2, [now])).toEqual([now]);
  });

  test("moves no job that its schedule sends four minutes ahead and the limit does not hold", async () => {
    const world = limited();
    const { id } = await world.file({ topic: "slow", delay: 4 * MINUTE });
    await promote(world.ctx, id);
    expect(sent(world, "slow")).toMatchObject([{ id, visibleAt: world.now() + 4 * MINUTE }]);
    expect(await world.home(id)).toMatchObject({ revision: 0 });
    expect(world.events.map(({ type }) => type)).not.toContain("deferred");
  });

  test("passes over minutes that are full without asking in each", async () => {
    const world = limited();
    const now = world.now();
    await bookStarts(
      world.ctx,
      "slow",
      2,
      Array.from({ length: 120 * 100 }, () => now),
    );
    let calls = 0;
    world.pool.hooks.before = ({ operation }) => {
      if (operation === "read" || operation === "count") calls += 1;
    };
    // Another process, which has not seen it.
    const ctx = { ...world.ctx, pool: { ...world.pool } };
    expect(await bookStarts(ctx, "slow", 2, [now])).toEqual([now + 100 * MINUTE]);
    expect(calls).toBeLessThan(10);
    calls = 0;
    expect(await bookStarts(ctx, "slow", 2, [now])).toEqual([now + 100 * MINUTE]);
    expect(calls).toBe(1);
  });

  test("whose start is noted by a writer that dies before it sends is found by the audit", async () => {
    const world = limited();
    await world.tick();
    const noted = new Promise<void>((resolve) => {
      world.pool.hooks.after = ({ operation }) => {
        if (operation !== "changeMany") return;
        resolve();
        return new Promise(() => {});
      };
    });
    void world.file({ topic: "slow", delay: 0 });
    await noted;
    delete world.pool.hooks.after;
    const [home] = liveHomes(world);
    expect(home?.heldUntil).toBe(home?.dueAt);
    expect(sent(world, "slow")).toEqual([]);
    await world.pass(20 * MINUTE);
    expect(await consume(world, "slow")).toMatchObject([{ id: home?.id }]);
  });

  test("that cannot be counted is looked at later and told of, keeps no other topic, and is not acknowledged unfiled", async () => {
    const world = limited();
    world.pool.hooks.before = (call) => {
      if (isAt("starts#", "count")(call)) throw new Error("down");
    };
    await fileMany(world, "free", 1, 10 * MINUTE);
    const [loose] = await fileMany(world, "loose", 1);
    expect(loose).toMatchObject({ code: "unavailable" });
    await fileMany(world, "slow", 2);
    const type = "hand-over-failed";
    expect(world.events).toContainEqual({ type, topic: "slow", jobs: 2, reason: "down" });
    await fileMany(world, "slow", 1, 10 * MINUTE);
    await world.pass(9 * MINUTE);
    expect(sent(world, "free")).toHaveLength(1);
    expect([...sent(world, "slow"), ...sent(world, "loose")]).toEqual([]);
    delete world.pool.hooks.before;
    await world.pass(10 * MINUTE);
    expect(new Set(sent(world, "slow").map(({ id }) => id)).size).toBe(3);
  });
});

describe("an untracked topic's held job", () => {
  test("is sent by the second of two sweeps though the first dies after noting its start", async () => {
    const world = createWorld({ shards: 1, topics: TOPICS });
    await world.pass(MINUTE);
    await fileMany(world, "loose", 400, 4 * MINUTE + 170 * SECOND);
    await world.pass(4 * MINUTE, { ticks: false });
    const dead = { ...world.ctx, queues: { ...world.queues, send: () => new Promise<never>(() => {}) } };
    const noted = new Promise<void>((resolve) => {
      world.pool.hooks.after = ({ operation, keys }) => {
        if (operation === "changeMany" && keys.length > 0) setImmediate(resolve);
      };
    });
    void tick(dead, world.now() + MINUTE);
    await noted;
    delete world.pool.hooks.after;
    await world.pass(5 * SECOND, { ticks: false });
    await world.tick();
    await world.pass(HOUR);
    expect(new Set(sent(world, "loose").map(({ id }) => id)).size).toBe(400);
  });
});

test("a job moved far ahead by a writer so slow that the sweep has passed is sent all the same", async () => {
  const world = createWorld({ shards: 1, topics: { slow: { maxPerSecond: 1 } } });
  await world.tick();
  await world.pass(10 * SECOND);
  await fileMany(world, "slow", 212);
  world.pool.hooks.before = async ({ operation, keys }) => {
    if (operation !== "insert" || !keys.some(({ sk }) => sk.endsWith("#look"))) return;
    delete world.pool.hooks.before;
    await world.pass(59 * SECOND);
  };
  const { id } = await world.file({ topic: "slow" });
  const { heldUntil = 0 } = await world.home(id);
  expect(heldUntil - world.now()).toBeGreaterThan(2 * MINUTE);
  expect(sent(world, "slow").find((one) => one.id === id)).toMatchObject({ start: heldUntil });
});

test("a job that waits in SQS behind slow consumers keeps its start, however often it is sent again", async () => {
  const world = limited();
  await fileMany(world, "slow", 1000);
  const before = new Map(liveHomes(world).map(({ id, heldUntil }) => [id, heldUntil]));
  await world.pass(6 * HOUR);
  for (const { id, heldUntil } of liveHomes(world)) expect(heldUntil).toBe(before.get(id));
});

test("a topic without a limit counts nothing", async () => {
  const world = limited();
  await fileMany(world, "free", 20);
  expect(world.pool.items().filter(({ pk }) => pk.startsWith("starts#"))).toEqual([]);
  expect(sent(world, "free").map(({ start }) => start)).toEqual(Array(20).fill(world.now()));
  expect(addressOf(sent(world, "free")[0]?.id ?? "").time).toBe(world.now());
});
