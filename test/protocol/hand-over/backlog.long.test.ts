import { describe, expect, test } from "vitest";
import { BUCKET, STARTS_AHEAD } from "../../../src/core/constants.ts";
import { pauseKey, ttl } from "../../../src/core/item-keys.ts";
import type { Item } from "../../../src/core/items.ts";
import { parseMessage, startOf } from "../../../src/core/message.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { cancel, cancelMany } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic, resumeTopic } from "../../../src/protocol/change/pause.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { park } from "../../../src/protocol/gate/park.ts";
import { carryOutPauses } from "../../../src/protocol/hand-over/carry-out-pauses.ts";
import { release, resume } from "../../../src/protocol/hand-over/release.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Context, Pool } from "../../../src/protocol/ports.ts";
import { consume } from "../../support/consume.ts";
import { type Call, callsOf, fail, isAt, meanwhile } from "../../support/scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const slow = { topic: "slow" } as const;
const limited = (maxPerSecond = 1, more: object = {}): World =>
  createWorld({ shards: 2, topics: { slow: { maxPerSecond, ...more }, free: {} } });
/** Changes the policy of the world, as a deployment does. */
const deploy = (world: World, more: object): void => {
  Object.assign(world.ctx, { policy: { ...world.ctx.policy, topics: { slow: more, free: {} } } });
};
const fileMany = async (world: World, count: number, delay = 0): Promise<string[]> => {
  const ids: string[] = [];
  for (let left = count; left > 0; left -= 500) {
    const jobs = Array.from({ length: Math.min(left, 500) }, () => ({
      topic: "slow",
      body: "{}",
      dueAt: world.now() + delay,
    }));
    for (const filed of await enqueueMany(world.ctx, jobs)) if ("home" in filed) ids.push(filed.home.id);
  }
  return ids;
};
const parked = (world: World): Item[] => world.pool.items().filter(({ pk }) => pk.startsWith("paused#slow#"));
const isParked = (world: World, id: string): boolean => parked(world).some(({ sk }) => sk.includes(id));
/** The start of each job in the topic's queue, by the job's id. */
const startsOf = (world: World): Map<string, number> =>
  new Map(
    world.queues
      .messages(slow)
      .flatMap(({ body }) => parseMessage(body)?.jobs ?? [])
      .map((job) => [job.id, startOf(job)]),
  );
const mostInASecond = (times: Iterable<number>): number =>
  Math.max(
    0,
    ...[...Map.groupBy(times, (time) => Math.floor(time / SECOND)).values()].map((at) => at.length),
  );
/** Lets time pass with enough consumers. Answers when each job ran, by its id. */
const runFor = async (world: World, ms: number): Promise<Map<string, number>> => {
  const runs = new Map<string, number>();
  for (const end = world.now() + ms; world.now() < end; ) {
    for (let some = await consume(world, "slow"); some.length > 0; some = await consume(world, "slow"))
      for (const { id, at } of some) runs.set(id, at);
    await world.pass(SECOND);
  }
  return runs;
};
const keysOf = (calls: readonly Call[], operation?: string): number =>
  calls
    .filter((call) => operation === undefined || call.operation === operation)
    .reduce((sum, { keys }) => sum + keys.length, 0);

describe("jobs that wait for their topic's limit", () => {
  test("are as late as before when their call is repeated", async () => {
    const world = limited(1, { ifLate: { after: 5, do: "skip" } });
    await world.tick();
    await fileMany(world, 76);
    const asked = { key: "a", onDuplicate: "keep" } as const;
    const { id } = await world.file({ ...slow, ...asked });
    expect(isParked(world, id)).toBe(true);
    const runs = await runFor(world, 30 * SECOND);
    expect(await world.fileAll({ ...slow, ...asked })).toMatchObject({ outcome: "kept" });
    for (const [run, at] of await runFor(world, 3 * MINUTE)) runs.set(run, at);
    expect(await world.home(id)).toMatchObject({ state: "done" });
    expect(runs.size).toBe(77);
  });

  test("get starts from a release even if a tick ends their topic's resume during that release", async () => {
    const world = limited(2);
    await world.tick();
    await pauseTopic(world.ctx, "slow");
    const lifted = await resumeTopic(world.ctx, "slow", undefined);
    await fileMany(world, 400);
    await world.pass(MINUTE, { ticks: false });
    const key = pauseKey("slow");
    await world.pool.change({ key, expect: {}, set: { expiresAt: ttl(world.now()) } }, world.now() + MINUTE);
    expect(await release(world.ctx, "slow", lifted, world.now() + MINUTE)).toBeGreaterThan(100);
  });

  test("start even if jobs before them wait for the opening of a window that a deployment has removed", async () => {
    const world = createWorld({ shards: 2, topics: { slow: { window: "09:30-08:30 UTC" }, free: {} } });
    await world.tick();
    await fileMany(world, 400);
    await world.pass(20 * MINUTE);
    deploy(world, { maxPerSecond: 10 });
    await fileMany(world, 10 * 60 * 12);
    await world.pass(3 * SECOND);
    const times = [...(await runFor(world, 11 * MINUTE)).values()];
    const minutes = Map.groupBy(times, (time) => Math.floor((time - START) / MINUTE));
    for (const minute of [25, 26, 27, 28, 29, 30])
      expect(minutes.get(minute)?.length).toBeGreaterThanOrEqual(0.98 * 600);
  });

  test("leave the limit to others within about a minute after they are cancelled", async () => {
    const world = limited();
    await world.tick();
    await cancelMany(world.ctx, await fileMany(world, 3600));
    const { id } = await world.file({ topic: "slow" });
    const filed = world.now();
    const ran = (await runFor(world, 3 * MINUTE)).get(id) ?? Number.POSITIVE_INFINITY;
    expect(ran - filed).toBeLessThanOrEqual(STARTS_AHEAD + BUCKET);
    const { id: next } = await world.file({ topic: "slow" });
    await world.pass(SECOND);
    expect((await runFor(world, SECOND)).has(next)).toBe(true);
  });

  test("cost a tick a few calls each when they were cancelled, and no start", async () => {
    const world = limited();
    await world.tick();
    const ids = await fileMany(world, 10_000);
    await cancelMany(world.ctx, ids);
    const calls = await callsOf(world, () => carryOutPauses(world.ctx, world.now() + MINUTE));
    expect(parked(world)).toEqual([]);
    // The calls read pages of notes, read the homes of the jobs, and delete the notes. A million jobs take a hundred times as many
    // calls, and delay no other jobs.
    expect(keysOf(calls, "read")).toBeLessThan(10_000 + 20);
    expect(keysOf(calls, "page")).toBeLessThan(10_000 / world.ctx.sizes.parkedPage + 10);
    expect(keysOf(calls, "remove")).toBe(10_000 - STARTS_AHEAD / SECOND);
    expect(keysOf(calls, "count")).toBe(0);
  });

  test("of many shards are read in pages that fit into memory together", async () => {
    const world = createWorld(
      { shards: 10, topics: { slow: { maxPerSecond: 10 } } },
      { ...SIZES, parkedPage: 100, parkedNotes: 50 },
    );
    await world.tick();
    await fileMany(world, 3_000);
    await world.pass(MINUTE, { ticks: false });
    const counts: number[] = [];
    const page: Pool["page"] = (pk, from, before, count) => {
      if (pk.startsWith("paused#slow#")) counts.push(count);
      return world.pool.page(pk, from, before, count);
    };
    await carryOutPauses({ ...world.ctx, pool: { ...world.pool, page } }, world.now() + MINUTE);
    expect(counts.length).toBeGreaterThan(10);
    expect(Math.max(...counts)).toBe(5);
  });

  test("do not delay a new job while a release reads a backlog that was cancelled", async () => {
    const world = limited();
    await world.tick();
    await cancelMany(world.ctx, await fileMany(world, 2000));
    await world.pass(2 * MINUTE, { ticks: false });
    await carryOutPauses(world.ctx, world.now());
    expect(parked(world).length).toBeGreaterThan(1000);
    const { id } = await world.file({ topic: "slow" });
    expect(startsOf(world).get(id)).toBe(world.now());
  });

  test("start by a raised limit within a minute", async () => {
    const world = limited();
    await world.tick();
    await fileMany(world, 3600);
    deploy(world, { maxPerSecond: 100 });
    const ran = await runFor(world, 2 * MINUTE);
    expect(ran.size).toBe(3600);
    expect(mostInASecond(ran.values())).toBe(100);
  });

  test("start at once when a deploy takes the limit away, or the topic", async () => {
    for (const isGone of [false, true]) {
      const world = limited();
      await world.tick();
      await fileMany(world, 200);
      const { topics } = world.ctx.policy;
      Object.assign(world.ctx, {
        policy: { ...world.ctx.policy, topics: isGone ? { free: {} } : { ...topics, slow: {} } },
      });
      await world.pass(MINUTE);
      expect(parked(world)).toEqual([]);
      expect(startsOf(world).size).toBe(200);
    }
  });

  test("are found by a deployment without the limit, even if a process of the old deployment parks them", async () => {
    const world = limited(1, { consumer: "pull" });
    const old: Context = { ...world.ctx };
    await world.tick();
    deploy(world, { consumer: "pull" });
    await world.pass(HOUR);
    const jobs = Array.from({ length: 100 }, () => ({ topic: "slow", body: "{}", dueAt: world.now() }));
    await enqueueMany(old, jobs);
    expect(startsOf(world).size).toBeLessThan(100);
    await world.pass(MINUTE);
    expect(startsOf(world).size).toBe(100);
  });

  test("stay parked if a second sweep reads them just when a pause ends", async () => {
    const world = limited(1, { consumer: "pull" });
    await world.tick();
    const ids = await fileMany(world, 200);
    const waiting = parked(world).length;
    expect(waiting).toBeGreaterThan(0);
    const homes = await Promise.all(ids.flatMap((id) => (isParked(world, id) ? world.home(id) : [])));
    await pauseTopic(world.ctx, "slow");
    meanwhile(world, isAt("paused#slow#", "insert"), () => resumeTopic(world.ctx, "slow", undefined));
    // Their earlier notes say since when they wait.
    const { parked: left, needless } = await park(world.ctx, "slow", homes);
    expect(left).toEqual(new Set(homes.map(({ id }) => id)));
    expect(needless.size).toBe(0);
    expect(parked(world)).toHaveLength(waiting);
    await world.pass(5 * MINUTE);
    expect(new Set(startsOf(world).keys())).toEqual(new Set(ids));
  });

  test("are released when the window opens, if a pause that has ended had parked them", async () => {
    const world = limited(1, { window: "09:30-10:00 UTC" });
    await pauseTopic(world.ctx, "slow");
    const [id = ""] = await fileMany(world, 1, 4 * MINUTE);
    await world.pass(3 * MINUTE);
    expect(isParked(world, id)).toBe(true);
    await resume(world.ctx, "slow", undefined);
    // By then the pause is over. No audit helps.
    for (; world.now() < START + 30 * MINUTE; await world.pass(MINUTE, { ticks: false }))
      await carryOutPauses(world.ctx, world.now() + MINUTE);
    expect(startsOf(world).get(id)).toBe(START + 30 * MINUTE);
  });

  test("are found by the audit when no tick looks for their notes", async () => {
    const world = limited();
    await world.tick();
    const ids = await fileMany(world, 3600);
    await world.pool.remove([{ pk: "limited", sk: "slow" }], world.now() + SECOND);
    expect((await runFor(world, 2 * HOUR)).size).toBe(ids.length);
  });

  test("start in the order in which they are due, before those that come later", async () => {
    const world = limited();
    await world.tick();
    const first = await fileMany(world, 300);
    await world.pass(MINUTE);
    const second: string[] = [];
    // These are as many jobs as the limit lets start in the same time.
    for (let i = 0; i < 60; i++) {
      second.push(...(await fileMany(world, 1)));
      await world.pass(SECOND);
    }
    await world.pass(10 * MINUTE);
    const starts = startsOf(world);
    const last = Math.max(...first.map((id) => starts.get(id) ?? 0));
    expect(Math.min(...second.map((id) => starts.get(id) ?? 0))).toBeGreaterThanOrEqual(last);
    expect(last).toBe(START + 299 * SECOND);
  });

  test("each cost three more writes (a note, its deletion, and a noted start), and no more after a long backlog", async () => {
    const costOf = async (backlog: number): Promise<number> => {
      const world = limited();
      await world.tick();
      await fileMany(world, backlog);
      await world.file({ topic: "slow" });
      const calls = await callsOf(world, () => world.file({ topic: "slow", delay: 0 }));
      return keysOf(calls);
    };
    const [short, long] = [await costOf(100), await costOf(10_000)];
    expect(long).toBe(short);
    expect(long).toBeLessThan(15);

    const world = limited();
    await world.tick();
    await fileMany(world, 100);
    const before = parked(world).length;
    const calls = await callsOf(world, () => carryOutPauses(world.ctx, world.now() + MINUTE));
    expect(before).toBe(25);
    await world.pass(20 * SECOND, { ticks: false });
    const writes = await callsOf(world, () => carryOutPauses(world.ctx, world.now() + MINUTE));
    expect(keysOf(calls, "remove")).toBe(0);
    expect([keysOf(writes, "changeMany"), keysOf(writes, "remove")]).toEqual([20, 20]);
  });

  test("keep their due times while they wait, and the audit sends them no other message", async () => {
    const world = limited();
    await world.tick();
    const [, ...ids] = await fileMany(world, 3000);
    const messages = () => world.queues.messages(slow).length;
    await world.pass(30 * MINUTE);
    expect(messages()).toBeLessThanOrEqual(30 * 60 + STARTS_AHEAD / SECOND);
    const homes = await Promise.all(ids.map((id) => world.home(id)));
    const held = homes.filter((home) => home?.heldUntil !== undefined);
    expect(held.length).toBeGreaterThan(1500);
    for (const home of held) expect(home).toMatchObject({ dueAt: START });
  });

  test("can be cancelled and retried, and their topic can be paused", async () => {
    const world = limited();
    await world.tick();
    const ids = await fileMany(world, 120);
    await cancel(world.ctx, ids[119] ?? "");
    await pauseTopic(world.ctx, "slow");
    await world.pass(5 * MINUTE);
    expect(await resume(world.ctx, "slow", undefined)).toEqual({ released: 44, left: 0 });
    const runs: { id: string; at: number }[] = [];
    for (let i = 0; i < 20 * 60; i++) {
      const isFirst = runs.length < 10;
      runs.push(...(await consume(world, "slow", isFirst ? { run: fail } : {})));
      await world.pass(SECOND);
    }
    expect(new Set(runs.map(({ id }) => id)).size).toBe(119);
    expect(runs.length).toBeGreaterThan(119);
  });
});

describe("a limited topic", () => {
  test("without waiting jobs starts each job in its own second and notes no start, whoever sends it", async () => {
    const world = limited(2);
    await world.tick();
    const delays = [0, 30 * SECOND, 100 * SECOND, 170 * SECOND, 5 * MINUTE, 9 * MINUTE];
    const calls = await callsOf(world, async () => {
      for (const delay of delays) await world.file({ topic: "slow", delay });
      await world.pass(7 * MINUTE);
    });
    const starts = [...startsOf(world).values()].map((start) => start - START);
    expect(starts.sort((a, b) => a - b)).toEqual(delays);
    expect(parked(world)).toEqual([]);
    const homes = calls.filter(({ keys: [key] }) => /^2026-.*[^k]$/.test(`${key?.pk}${key?.sk}`));
    // One start is noted: a sweep reads a job without knowing that the writer has sent it.
    expect(homes.filter(({ operation }) => operation === "changeMany")).toHaveLength(1);
  });

  test("delays no job because of a missing tick, while half of its starts are free", async () => {
    const world = limited(2);
    await world.tick();
    const { id } = await world.file({ topic: "slow", delay: 10 * MINUTE });
    await world.pass(8 * MINUTE);
    await world.pass(2 * MINUTE, { ticks: false });
    expect((await runFor(world, SECOND)).get(id)).toBe(START + 10 * MINUTE);
  });

  test("costs a tick one read while nothing has ever waited, and little when nothing waits any more", async () => {
    const world = limited();
    await world.tick();
    const calls = () => callsOf(world, () => carryOutPauses(world.ctx, world.now() + MINUTE));
    await world.pass(10 * SECOND, { ticks: false });
    // The topics that ever had parked jobs, those that were ever paused, and the pauses.
    expect(await calls()).toHaveLength(3);
    await fileMany(world, 100);
    // Again just after a tick, whose sweeps have read the topic's pause and limit.
    await world.pass(5 * MINUTE - 10 * SECOND);
    expect((await calls()).length).toBeLessThanOrEqual(5);
  });

  test.each([2, 20, 0.2])("uses all starts of a busy minute and never more, at %d a second", async (rate) => {
    const world = limited(rate);
    await world.tick();
    let seed = 1;
    const drawn = (below: number): number => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed % below;
    };
    const times: number[] = [];
    let tickAt = world.now() + MINUTE;
    const period = Math.max(1, 1 / rate);
    for (let second = 0; second < 10 * 60; second++) {
      if (world.now() >= tickAt) {
        await world.tick();
        // Each up to ten seconds late.
        tickAt = START + Math.floor((world.now() - START) / MINUTE + 1) * MINUTE + drawn(10) * SECOND;
      }
      // More jobs than the limit lets start, due now or soon, sent by sweeps and by writers. One run in ten fails and is retried.
      if (second % period === 0) await fileMany(world, Math.ceil(rate * 1.2), drawn(4) * MINUTE);
      const run = failOften(drawn);
      for (let some = await consume(world, "slow", { run }); some.length > 0; ) {
        times.push(...some.map(({ at }) => at));
        some = await consume(world, "slow", { run });
      }
      await world.pass(SECOND, { ticks: false });
    }
    expect(mostInASecond(times)).toBeLessThanOrEqual(Math.max(rate, 1));
    for (let minute = 4; minute < 9; minute++) {
      const from = START + minute * MINUTE;
      const started = times.filter((time) => time >= from && time < from + MINUTE).length;
      expect(started).toBeLessThanOrEqual(Math.ceil(60 * rate));
      expect(started).toBeGreaterThanOrEqual(Math.floor(0.98 * 60 * rate));
    }
  });

  test("is not starved by keys that are replaced each second", async () => {
    const world = limited();
    await world.tick();
    const delays: number[] = [];
    for (let second = 0; second < 600; second++) {
      for (let key = 0; key < 10; key++)
        await world.fileAll({ topic: "slow", key: `k${key}`, onDuplicate: "replace", delay: 30 * SECOND });
      if (second >= 120 && second % 60 === 30) {
        const { id } = await world.file({ topic: "slow" });
        const filed = world.now();
        for (let i = 0; i < 300 && !startsOf(world).has(id); i++) await world.pass(SECOND);
        delays.push((startsOf(world).get(id) ?? Number.POSITIVE_INFINITY) - filed);
      }
      await world.pass(SECOND);
      for (let some = await consume(world, "slow"); some.length > 0; ) some = await consume(world, "slow");
    }
    expect(Math.max(...delays)).toBeLessThanOrEqual(STARTS_AHEAD + BUCKET);
  });
});

describe("a release that dies", () => {
  const STEPS: [string, "before" | "after", (call: Call) => boolean][] = [
    ["before it books starts", "before", isAt("starts#", "count")],
    ["after it has booked starts", "after", isAt("starts#", "count")],
    ["before it notes a start", "before", isAt("2026-", "changeMany")],
    ["after it has noted a start", "after", isAt("2026-", "changeMany")],
    ["before it deletes a note", "before", isAt("paused#", "remove")],
    ["after it has deleted a note", "after", isAt("paused#", "remove")],
    ["before it records how far it came", "before", isAt("limited", "change")],
  ];
  test.each(STEPS)("%s loses no job", async (_, where, matches) => {
    const world = limited(1, { consumer: "pull" });
    await world.tick();
    const ids = await fileMany(world, 200);
    await world.pass(MINUTE, { ticks: false });
    breakOnce(world, where, matches);
    await carryOutPauses(world.ctx, world.now() + MINUTE).catch(() => {});
    expect(world.pool.hooks[where]).toBeUndefined();
    await world.pass(5 * MINUTE);
    expect(new Set(startsOf(world).keys())).toEqual(new Set(ids));
    expect(parked(world)).toEqual([]);
  });

  test.each([50 * SECOND, 4 * MINUTE])(
    "before it sends gives its jobs other starts, because theirs have passed after %i ms",
    async (ms) => {
      const world = limited(1);
      await world.tick();
      await fileMany(world, 200);
      await world.pass(MINUTE, { ticks: false });
      const dead = {
        ...world.ctx,
        queues: { ...world.queues, send: () => Promise.reject(new Error("crash")) },
      };
      await carryOutPauses(dead, world.now() + MINUTE).catch(() => {});
      await world.pass(ms, { ticks: false });
      world.queues.purge(slow);
      await carryOutPauses(world.ctx, world.now() + MINUTE);
      const late = world.queues.messages(slow).filter(({ visibleAt }) => visibleAt <= world.now() + SECOND);
      expect(late.length).toBeLessThanOrEqual(2);
      await world.pass(5 * MINUTE);
      expect(mostInASecond(startsOf(world).values())).toBe(1);
    },
  );
});

test("late jobs get other starts when theirs have passed, after a sweep died before it sent them", async () => {
  const world = limited(1);
  await world.tick();
  await fileMany(world, 60, 10 * MINUTE);
  await world.pass(11 * MINUTE, { ticks: false });
  const dead = { ...world.ctx, queues: { ...world.queues, send: () => Promise.reject(new Error("crash")) } };
  await tick(dead, world.now() + MINUTE).catch(() => {});
  await world.pass(50 * SECOND, { ticks: false });
  await world.tick();
  const late = world.queues.messages(slow).filter(({ visibleAt }) => visibleAt <= world.now() + SECOND);
  expect(late.length).toBeLessThanOrEqual(2);
  await world.pass(3 * MINUTE);
  expect(startsOf(world).size).toBe(60);
});

describe("a resume at a rate", () => {
  const paused = async (maxPerSecond?: number): Promise<{ world: World; ids: string[] }> => {
    const world = limited(maxPerSecond);
    if (maxPerSecond === undefined) deploy(world, {});
    await world.tick();
    await pauseTopic(world.ctx, "slow");
    const ids = await fileMany(world, 600);
    await world.pass(MINUTE);
    return { world, ids };
  };

  test("gives starts only for the next minute, and none to cancelled jobs", async () => {
    const { world, ids } = await paused();
    expect(await resume(world.ctx, "slow", 1)).toEqual({ released: STARTS_AHEAD / SECOND, left: 525 });
    await cancelMany(world.ctx, ids);
    const late = await world.file({ topic: "slow" });
    expect(startsOf(world).get(late.id)).toBe(world.now());
    await world.pass(2 * MINUTE);
    expect(parked(world)).toEqual([]);
  });

  test("uses a new rate within a minute", async () => {
    const { world } = await paused();
    await resume(world.ctx, "slow", 0.1);
    await resume(world.ctx, "slow", 10);
    const runs = await runFor(world, 2 * MINUTE);
    expect(runs.size).toBe(600);
  });

  test.each([
    ["slower", [10, 9]],
    ["hardly faster, several times", [10, 10.1, 10.2, 10.3, 10.4, 10.5]],
    ["slower and faster again", [10, 2, 10]],
  ])("whose rate is changed gives no more starts than the fastest: %s", async (_, rates) => {
    const world = limited();
    deploy(world, {});
    await world.tick();
    await pauseTopic(world.ctx, "slow");
    await fileMany(world, 3000);
    await world.pass(MINUTE);
    for (const rate of rates) {
      await resume(world.ctx, "slow", rate);
      await world.pass(10 * SECOND);
    }
    await world.pass(3 * MINUTE);
    const starts = [...startsOf(world).values()];
    expect(mostInASecond(starts)).toBeLessThanOrEqual(Math.max(...rates) + 1);
    expect(starts.length).toBeGreaterThan(1500);
  });

  test.each([
    [1, 3],
    [3, 1],
  ])(
    "keeps to its rate of %d and to the topic's limit of %d, and new jobs to the limit alone",
    async (rate, limit) => {
      const { world, ids } = await paused(limit);
      await resume(world.ctx, "slow", rate);
      const started = world.now();
      await world.pass(3 * MINUTE);
      const starts = startsOf(world);
      const ofPause = ids.flatMap((id) => starts.get(id) ?? []);
      expect(mostInASecond(ofPause)).toBe(Math.min(rate, limit));
      const within = ofPause.filter((start) => start < started + 3 * MINUTE).length;
      expect(within).toBeGreaterThanOrEqual(0.98 * 180 * Math.min(rate, limit));
      if (rate > limit) return;
      const { id } = await world.file({ topic: "slow" });
      await world.pass(MINUTE);
      expect((startsOf(world).get(id) ?? Number.POSITIVE_INFINITY) - world.now()).toBeLessThan(STARTS_AHEAD);
      expect(mostInASecond(startsOf(world).values())).toBeLessThanOrEqual(limit);
    },
  );
});

function failOften(drawn: (below: number) => number) {
  return () => (drawn(10) === 0 ? fail() : ({ end: "done" } as const));
}

describe("after SQS took none of a limited topic's messages for three minutes", () => {
  test("no second has more starts than two seconds allow, although the tick's own messages fill the queue", async () => {
    const world = createWorld({ shards: 8, topics: { slow: { maxPerSecond: 100 }, free: {} } });
    const from = world.now() + 8 * MINUTE;
    // A minute of 40 a second.
    for (let second = 0; second < 60; second++)
      await fileMany(world, 40, from + second * SECOND - world.now());
    const { send } = world.queues;
    await world.pass(from - 170 * SECOND - world.now());
    world.queues.send = async (queue, messages) =>
      queue.events === undefined && queue.topic === "slow"
        ? messages.map(() => ({ outcome: "failing", reason: "InternalError" }))
        : send(queue, messages);
    await world.pass(3 * MINUTE);
    world.queues.send = send;
    const runs = await runFor(world, 20 * MINUTE);
    expect(runs.size).toBe(2400);
    // DelaySeconds are whole seconds, so the starts of two seconds may come in one.
    expect(mostInASecond(runs.values())).toBeLessThanOrEqual(200);
  });
});
