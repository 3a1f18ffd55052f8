import { expect, test } from "vitest";
import { homeKey, lookAt } from "../../src/core/item-keys.ts";
import { pauseTopic } from "../../src/protocol/change/pause.ts";
import { enqueueMany } from "../../src/protocol/file/enqueue.ts";
import { resume } from "../../src/protocol/hand-over/release.ts";
import { tick } from "../../src/protocol/hand-over/tick.ts";
import type { Context } from "../../src/protocol/ports.ts";
import { changeApart, insertApart } from "../../src/protocol/store/write-apart.ts";
import { consume } from "../support/consume.ts";
import { undecidedPool, whileTimePasses } from "../support/undecided.ts";
import { createWorld, MINUTE, SECOND, START, type World } from "../support/world.ts";

/** Files jobs that are due at once, in batches. */
async function fileMany(ctx: Context, topic: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 500)
    await enqueueMany(
      ctx,
      Array.from({ length: Math.min(left, 500) }, () => ({ topic, body: "{}", dueAt: ctx.clock() })),
    );
}

/** Runs a tick in each of the next minutes, with the pool of `ctx`. Answers how many jobs each minute sent. */
async function sentPerMinute(world: World, ctx: Context, topic: string, minutes: number): Promise<number[]> {
  const seen = new Set<string>();
  const counts: number[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    const ticked = tick(ctx, world.now() + 50 * SECOND).catch(() => {});
    for (let second = 0; second < 60; second++) {
      await world.pass(SECOND, { ticks: false });
      for (let i = 0; i < 40; i++) await new Promise(setImmediate);
    }
    await ticked;
    const ids = world.queues.messages({ topic }).flatMap(({ body }) => [...body.matchAll(/"id":"(\w+)"/g)]);
    const fresh = ids.filter(([, id = ""]) => !seen.has(id));
    for (const [, id = ""] of fresh) seen.add(id);
    counts.push(fresh.length);
  }
  return counts;
}

test("a limit applies while DynamoDB decides no update of one bucket of a batch", async () => {
  const world = createWorld({ shards: 8, topics: { t: { maxPerSecond: 10 } } });
  await world.tick();
  const end = world.now() + 30 * SECOND;
  const pool = undecidedPool(world, (pk) => pk === "2026-03-01T09:00#3" && world.now() < end && isFiled);
  let isFiled = false;
  const insert: typeof pool.insert = async (items, by) => {
    const outcomes = await world.pool.insert(items, by);
    isFiled = true;
    return outcomes;
  };
  const ctx = { ...world.ctx, pool: Object.assign(Object.create(pool), { insert }) };
  const starts: number[] = [];
  await whileTimePasses(world, fileMany(ctx, "t", 500), async () => {
    for (let runs = await consume(world, "t"); runs.length > 0; runs = await consume(world, "t"))
      starts.push(...runs.map(({ at }) => at));
  });
  const seconds = Map.groupBy(starts, (at) => Math.floor((at - START) / SECOND));
  // These are the starts of the two seconds that such a write takes, and of the second in which it ends.
  expect(Math.max(...[...seconds.values()].map(({ length }) => length))).toBeLessThanOrEqual(30);
});

test("a limit's starts are used while no note of one shard can be deleted", async () => {
  const world = createWorld({ shards: 8, topics: { t: { consumer: "pull", maxPerSecond: 10 } } });
  await world.tick();
  await fileMany(world.ctx, "t", 3500);
  const pool = undecidedPool(world, (pk) => pk === "paused#t#0");
  const isRemoved: Context = {
    ...world.ctx,
    pool: Object.assign(Object.create(world.pool), { remove: pool.remove }),
  };
  for (const count of await sentPerMinute(world, isRemoved, "t", 4)) expect(count).toBeGreaterThan(500);
});

test("a resume continues while no looks can be written to one shard", async () => {
  const world = createWorld({ shards: 8, topics: { t: { consumer: "pull" } } });
  await world.tick();
  await pauseTopic(world.ctx, "t");
  await fileMany(world.ctx, "t", 3000);
  await world.pass(5 * MINUTE);
  const pool = undecidedPool(world, (pk) => /T09:0[5-9]#3$/.test(pk));
  const ctx: Context = { ...world.ctx, pool };
  const resumed = resume(ctx, "t", 10).catch(() => {});
  const [first = 0, ...others] = await sentPerMinute(world, ctx, "t", 4);
  await resumed;
  expect(first).toBeGreaterThan(500);
  for (const count of others) expect(count).toBeGreaterThan(450);
});

test("a partition that decides no write is not tried again for a minute, and others are", async () => {
  const world = createWorld({ shards: 8 });
  const jobs = await Promise.all(Array.from({ length: 40 }, () => world.file({ delay: MINUTE })));
  const buckets = [...new Set(jobs.map(({ id }) => homeKey(id).pk))];
  const pool = undecidedPool(world, (pk) => pk === buckets[0]);
  const ctx: Context = { ...world.ctx, pool };
  const changes = jobs.map(({ id }) => ({ key: homeKey(id), expect: {}, set: { tag: "changed" } }));
  for (const takes of [5 * SECOND, 0]) {
    const begun = world.now();
    const asked = changeApart(ctx, changes, begun + 5 * SECOND);
    if (takes > 0) await whileTimePasses(world, asked);
    const outcomes = await asked;
    expect(world.now() - begun).toBeGreaterThanOrEqual(takes);
    expect(world.now() - begun).toBeLessThan(takes + SECOND);
    for (const [i, { id }] of jobs.entries())
      expect(outcomes[i] instanceof Error).toBe(homeKey(id).pk === buckets[0]);
  }
  await world.pass(MINUTE, { ticks: false });
  const begun = world.now();
  const sick = jobs.find(({ id }) => homeKey(id).pk === buckets[0]);
  const again = insertApart(
    ctx,
    [{ ...lookAt(sick?.id ?? "", START), pk: buckets[0] ?? "" }],
    begun + 5 * SECOND,
  );
  await whileTimePasses(world, again);
  expect(world.now() - begun).toBeGreaterThanOrEqual(5 * SECOND);
});

test("a sweep continues although no look can be written to one bucket", async () => {
  const world = createWorld({ shards: 1, topics: { sick: {}, well: {} } });
  await world.tick();
  const sick = await world.file({ topic: "sick", delay: 10 * MINUTE });
  await world.file({ topic: "well", delay: 10 * MINUTE });
  await world.pass(8 * MINUTE, { ticks: false });
  world.queues.trouble({ topic: "sick" }, "failing");
  let mute: string | undefined;
  const pool = undecidedPool(world, (pk) => pk === mute);
  const insert: typeof pool.insert = (items, by) => {
    mute ??= items[0]?.pk;
    return undecidedPool(world, (pk) => pk === mute).insert(items, by);
  };
  const ctx = { ...world.ctx, pool: Object.assign(Object.create(pool), { insert }) };
  await whileTimePasses(world, tick(ctx, world.now() + 150 * SECOND));
  expect(mute).toBeDefined();
  const looks = world.pool.items().filter(({ pk, sk }) => sk.endsWith(`${sick.id}#look`) && pk !== mute);
  expect(looks).toHaveLength(1);
  await whileTimePasses(world, tick(ctx, world.now() + 150 * SECOND));
  expect(world.queues.messages({ topic: "well" })).toHaveLength(1);
});
