import { expect, test } from "vitest";
import type { Home } from "../../src/core/home.ts";
import type { Key } from "../../src/core/items.ts";
import { pauseTopic } from "../../src/protocol/change/pause.ts";
import { reschedule } from "../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../src/protocol/file/enqueue.ts";
import { resume } from "../../src/protocol/hand-over/release.ts";
import { consume } from "../support/consume.ts";
import { createWorld, MINUTE, SECOND, type World } from "../support/world.ts";

/** DynamoDB answers no read of this partition, and its client gives up after `takes` ms. Returns a function that counts such reads. */
function hideReads(world: World, partition: string, takes = 0): () => number {
  const { read } = world.pool;
  let calls = 0;
  world.pool.read = async (keys) => {
    if (!keys.some(({ pk }) => pk === partition)) return read.call(world.pool, keys);
    calls += 1;
    await world.pass(takes, { ticks: false });
    throw new Error(`${partition} gives no answer`);
  };
  return () => calls;
}

const homesOf = (outcomes: readonly unknown[]): Home[] =>
  outcomes.flatMap((one) => (one instanceof Error ? [] : (one as { home: Home }).home));

/** Files `count` jobs of topic `t`, due half a minute apart, so that they are in several buckets. */
const fileSpread = async (world: World, count: number, from: number): Promise<Home[]> =>
  homesOf(
    await enqueueMany(
      world.ctx,
      Array.from({ length: count }, (_, i) => ({
        topic: "t",
        body: "{}",
        dueAt: world.now() + from + i * 30 * SECOND,
      })),
    ),
  );

test("a release sends all jobs except those whose homes cannot be read, and reports those", async () => {
  const world = createWorld({ shards: 1, topics: { t: {} } });
  await pauseTopic(world.ctx, "t");
  const jobs = await fileSpread(world, 40, 5 * MINUTE);
  await world.pass(30 * MINUTE);
  const sick = jobs.filter(({ pk }) => pk === jobs[0]?.pk);
  const { read } = world.pool;
  hideReads(world, jobs[0]?.pk ?? "");
  await expect(resume(world.ctx, "t", undefined)).rejects.toThrow("could not be released");
  const sent = new Set(world.visible("t").map(({ id }) => id));
  expect(jobs.filter(({ id }) => !sent.has(id))).toEqual(sick);
  world.pool.read = read;
  await world.pass(MINUTE);
  expect(new Set(world.visible("t").map(({ id }) => id)).size).toBe(40);
});

test("a consumer starts its other jobs while it reads the homes of claims without an answer", async () => {
  const world = createWorld({ shards: 1, topics: { t: {}, other: {} } });
  await world.tick();
  const [sick, ...well] = await fileSpread(world, 6, 0);
  await world.pass(3 * MINUTE);
  const { changeMany } = world.pool;
  const isSick = ({ key }: { key: Key }): boolean => key.pk === sick?.pk;
  world.pool.changeMany = async (changes, by, onChanged) => {
    const others = changes.filter((change) => !isSick(change));
    const decided = await changeMany.call(world.pool, others, by, onChanged);
    return changes.map((change) => decided[others.indexOf(change)] ?? new Error("throttled"));
  };
  hideReads(world, sick?.pk ?? "", 15 * SECOND);
  const begun = world.now();
  const started: { id: string; at: number }[] = [];
  await consume(world, "t", {
    timeout: 60_000,
    run: ({ id }) => {
      started.push({ id, at: world.now() - begun });
      return { end: "done" };
    },
  });
  const isWell = (id: string): boolean => well.some((home) => home.id === id && home.pk !== sick?.pk);
  expect(started.filter(({ id }) => isWell(id)).map(({ at }) => at)).toEqual(
    well.filter(({ id }) => isWell(id)).map(() => 0),
  );
});

test("a claim that was applied but not answered is given back, and counts as no attempt", async () => {
  const world = createWorld({ shards: 1, topics: { t: {} } });
  const [job] = await fileSpread(world, 1, 0);
  const { changeMany } = world.pool;
  world.pool.changeMany = async (changes, by) => {
    world.pool.changeMany = changeMany;
    await changeMany.call(world.pool, changes, by);
    return changes.map(() => new Error("no answer until its deadline"));
  };
  expect(await consume(world, "t")).toEqual([]);
  expect(await world.home(job?.id ?? "")).toMatchObject({ state: "scheduled", attempt: 0, revision: 1 });
  expect(await consume(world, "t")).toMatchObject([{ id: job?.id, attempt: 1 }]);
});

test("jobs of a paused topic whose homes cannot be read do not run, and the others are parked", async () => {
  const world = createWorld({ shards: 1, topics: { t: {}, other: {} } });
  await world.tick();
  const jobs = await fileSpread(world, 6, 0);
  await world.pass(3 * MINUTE);
  await pauseTopic(world.ctx, "t");
  const sick = jobs.filter(({ pk }) => pk === jobs[0]?.pk);
  hideReads(world, jobs[0]?.pk ?? "");
  expect(await consume(world, "t")).toEqual([]);
  const parked = world.pool.items().filter(({ pk }) => pk.startsWith("paused#t"));
  expect(parked).toHaveLength(jobs.length - sick.length);
  const left = new Set(world.queues.messages({ topic: "t" }).map(({ body }) => JSON.parse(body).jobs[0].id));
  expect(left).toEqual(new Set(sick.map(({ id }) => id)));
});

test("callers that want the key of a job in a bucket without answers cause one read of that bucket a minute", async () => {
  const world = createWorld({ shards: 1, topics: { t: {} } });
  const { pk } = await world.file({ topic: "t", key: "k", delay: 30 * MINUTE });
  const calls = hideReads(world, pk, 15 * SECOND);
  const take = () => world.file({ topic: "t", key: "k", delay: MINUTE, onDuplicate: "replace" });
  for (let i = 0; i < 5; i++) await expect(take()).rejects.toThrow("gives no answer");
  expect(calls()).toBe(1);
  await world.pass(MINUTE);
  await expect(take()).rejects.toThrow("gives no answer");
  expect(calls()).toBe(2);
});

test("a sweep sends the jobs that were moved to one minute, except those whose homes cannot be read", async () => {
  const world = createWorld({ shards: 1, topics: { t: {} } });
  await world.tick();
  const jobs = await fileSpread(world, 6, 60 * MINUTE);
  const dueAt = world.now() + 10 * MINUTE;
  for (const { id } of jobs) await reschedule(world.ctx, id, { dueAt });
  const sick = jobs.filter(({ pk }) => pk === jobs[0]?.pk);
  const { read } = world.pool;
  hideReads(world, jobs[0]?.pk ?? "");
  await world.pass(10 * MINUTE);
  const sent = new Set(world.visible("t").map(({ id }) => id));
  expect(jobs.filter(({ id }) => !sent.has(id))).toEqual(sick);
  world.pool.read = read;
  await world.pass(5 * MINUTE);
  expect(new Set(world.visible("t").map(({ id }) => id)).size).toBe(6);
});
