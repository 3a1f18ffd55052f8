import { describe, expect, test } from "vitest";
import { BATCH_PATIENCE, DAY } from "../../src/core/constants.ts";
import { bucketOf, keyItemKey, onceKey, parkedIn, pauseKey, troubledIn } from "../../src/core/item-keys.ts";
import type { Item, Key } from "../../src/core/items.ts";
import { parseMessage } from "../../src/core/message.ts";
import { SIZES } from "../../src/core/work-sizes.ts";
import { pauseTopic } from "../../src/protocol/change/pause.ts";
import { enqueueMany } from "../../src/protocol/file/enqueue.ts";
import { resume } from "../../src/protocol/hand-over/release.ts";
import { tick } from "../../src/protocol/hand-over/tick.ts";
import type { Change, Pool } from "../../src/protocol/ports.ts";
import { readApart } from "../../src/protocol/store/read-apart.ts";
import { noteTroubled } from "../../src/protocol/store/troubled.ts";
import { createApi, type Json } from "../support/api.ts";
import { consume } from "../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../support/world.ts";

const TOPICS = {
  well: {},
  sick: {},
} as const;
const JOBS = 60;

type Silence = { readonly partition: string; readonly of: "reads" | "writes"; readonly takes?: number };

/** DynamoDB answers no reads, or no writes, of one partition. `takes`: ms until its client gives up. Returns what ends this. */
function silence(world: World, { partition, of, takes = 0 }: Silence): () => void {
  const before = { ...world.pool } as Pool;
  const isIts = ({ pk }: { pk: string }): boolean => pk === partition;
  const giveUp = async (): Promise<never> => {
    await world.pass(takes, { ticks: false });
    throw new Error(`${partition} gives no answer`);
  };
  const others = async <T, R>(
    asked: readonly T[],
    keyOf: (one: T) => Key,
    ask: (some: T[]) => Promise<R[]>,
  ): Promise<(R | Error)[]> => {
    const well = asked.filter((one) => !isIts(keyOf(one)));
    const answers = await ask(well);
    if (takes > 0 && well.length < asked.length) await world.pass(takes, { ticks: false });
    return asked.map((one) => answers[well.indexOf(one)] ?? new Error(`${partition} gives no answer`));
  };
  const reading: Partial<Pool> = {
    read: (keys) => (keys.some(isIts) ? giveUp() : before.read.call(world.pool, keys)),
    page: (pk, ...rest) => (isIts({ pk }) ? giveUp() : before.page.call(world.pool, pk, ...rest)),
  };
  const writing: Partial<Pool> = {
    insert: (items, by) =>
      others<Item, Awaited<ReturnType<Pool["insert"]>>[number]>(
        items,
        (item) => item,
        (some) => before.insert.call(world.pool, some, by),
      ),
    changeMany: (changes, by) =>
      others<Change, Awaited<ReturnType<Pool["changeMany"]>>[number]>(
        changes,
        ({ key }) => key,
        (some) => before.changeMany.call(world.pool, some, by),
      ),
    change: (change, by) => (isIts(change.key) ? giveUp() : before.change.call(world.pool, change, by)),
    remove: (keys, by) => (keys.some(isIts) ? giveUp() : before.remove.call(world.pool, keys, by)),
  };
  Object.assign(world.pool, of === "reads" ? reading : writing);
  return () => void Object.assign(world.pool, before);
}

/** Files jobs of one topic and of `well`, due ten seconds apart, from `from` ms ahead on. */
const fileBoth = (world: World, topic: string, from = 5 * MINUTE) =>
  enqueueMany(
    world.ctx,
    Array.from({ length: JOBS }, (_, i) => {
      const dueAt = world.now() + from + i * 10 * SECOND;
      return [
        { topic, body: "{}", dueAt },
        { topic: "well", body: "{}", dueAt },
      ];
    }).flat(),
  );
const sent = (world: World, topic: string): string[] =>
  world.queues
    .messages({ topic })
    .flatMap(({ body }) => parseMessage(body)?.jobs ?? [])
    .map(({ id }) => id);
async function tickFor(world: World, minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i++) {
    await world.pass(MINUTE, { ticks: false });
    await world.tick();
  }
}

const pauseSick = (world: World) => pauseTopic(world.ctx, "sick");
const resumeSick = async (world: World): Promise<void> => {
  await pauseTopic(world.ctx, "sick");
  await world.pass(MINUTE);
  await resume(world.ctx, "sick", undefined);
};

describe("while one partition gives no answer to the following, a tick sends other topics' jobs:", () => {
  test.each([
    ["writes of a paused topic's notes", "sick", "writes", pauseSick, parkedIn("sick", 0)],
    ["reads of the notes of a topic that is being resumed", "sick", "reads", resumeSick, parkedIn("sick", 0)],
  ] as const)("%s", async (_, topic, of, before, partition) => {
    const world = createWorld({ shards: 1, topics: TOPICS });
    await world.tick();
    await fileBoth(world, topic);
    await before(world);
    const mend = silence(world, { partition, of });
    await tickFor(world, 20);
    expect(new Set(sent(world, "well")).size).toBe(JOBS);
    mend();
    if (before === pauseSick) await resume(world.ctx, topic, undefined);
    await tickFor(world, 90);
    expect(new Set(sent(world, topic)).size).toBe(JOBS);
  });

  test("writes of a paused topic's notes, after 50 s each, and over several pages", async () => {
    const world = createWorld({ shards: 1, topics: TOPICS }, { ...SIZES, page: 20 });
    await world.tick();
    const dueAt = world.now() + 5 * MINUTE;
    const topics = Array.from({ length: 300 }, (_, i) => (i % 2 === 0 ? "sick" : "well"));
    await enqueueMany(
      world.ctx,
      topics.map((topic, i) => ({ topic, body: "{}", dueAt: dueAt + i * 10 })),
    );
    await pauseSick(world);
    silence(world, { partition: parkedIn("sick", 0), of: "writes", takes: 50 * SECOND });
    await tickFor(world, 5);
    expect(new Set(sent(world, "well")).size).toBe(150);
  });

  test("so does a call that files jobs of both topics", async () => {
    const world = createWorld({ shards: 1, topics: TOPICS });
    await world.tick();
    await pauseSick(world);
    silence(world, { partition: parkedIn("sick", 0), of: "writes" });
    const results = await fileBoth(world, "sick", 30 * SECOND);
    expect(results.filter((result) => result instanceof Error)).toEqual([]);
    expect(sent(world, "well").length).toBeGreaterThan(10);
  });
});

describe("while one partition gives no answer, an audit sends lost jobs:", () => {
  test("the partition of a key that a finished job has not released, and that is released later", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    await world.file({ key: "order-1" });
    const key = keyItemKey("orders", "order-1");
    const mendWrites = silence(world, { partition: key.pk, of: "writes" });
    await consume(world, "orders");
    mendWrites();
    const lost = await world.file({});
    world.queues.purge({ topic: "orders" });
    const mendReads = silence(world, { partition: key.pk, of: "reads" });
    await tickFor(world, 20);
    expect(sent(world, "orders")).toEqual([lost.id]);
    mendReads();
    expect((await world.pool.read([key]))[0]).not.toHaveProperty("expiresAt");
    await tickFor(world, 60);
    expect((await world.pool.read([key]))[0]).toHaveProperty("expiresAt");
  });

  test("the partition of an Idempotency-Key whose job is late", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const { id } = await world.file({ once: { token: "t", hash: "h" } });
    const lost = await world.file({});
    world.queues.purge({ topic: "orders" });
    silence(world, { partition: onceKey("orders", "t").pk, of: "reads" });
    await world.pass(3 * DAY, { ticks: false });
    await tickFor(world, 20);
    expect(new Set(sent(world, "orders"))).toEqual(new Set([id, lost.id]));
    const looks = world.pool.items().filter(({ sk }) => sk.endsWith("#look") && sk.includes(id));
    expect(looks.length).toBeGreaterThan(0);
  });
});

test.each([
  ["the pause", pauseKey("sick").pk],
  ["the notes of parked jobs", parkedIn("sick", 0)],
])(
  "jobs that are due are read, listed and counted while %s of one topic cannot be read",
  async (_, partition) => {
    const world = createWorld({ shards: 1, topics: { well: {}, sick: { maxPerSecond: 1 } } });
    const { call } = createApi(world);
    const { id } = await world.file({ topic: "sick", delay: SECOND });
    const other = await world.file({ topic: "well", delay: 2 * SECOND });
    await world.pass(20 * SECOND, { ticks: false });
    silence(world, { partition, of: "reads" });
    const lateSince = new Date(other.dueAt).toISOString();
    const range = `from=${new Date(world.now() - MINUTE).toISOString()}`;
    const answers = [await call("GET", `/jobs/${id}`), await call("GET", `/jobs?${range}`)];
    answers.push(await call("GET", `/forecast?${range}&step=60`));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers[0]?.json).not.toHaveProperty("lateSince");
    expect(answers[1]?.json.jobs).toMatchObject([{ id }, { id: other.id, lateSince }]);
    expect(answers[2]?.json.counts).toMatchObject([{ topic: "sick" }, { topic: "well", state: "late" }]);
  },
);

const LATE_TOPICS = "late";
const DUE = Date.UTC(2026, 2, 1, 9, 1);
test.each([
  ["a minute", bucketOf(DUE + MINUTE, 0)],
  ["the notes of a topic", troubledIn("late", "sick", 0)],
  ["the list of topics with notes", LATE_TOPICS],
  ["the job of a note", bucketOf(DUE - MINUTE, 0)],
])(
  "topics are reported, with the late jobs that are found, while %s cannot be read",
  async (_, partition) => {
    const world = createWorld({ shards: 1, topics: TOPICS });
    const { call } = createApi(world);
    await world.tick();
    const noted = await world.file({ topic: "sick" });
    await noteTroubled(world.ctx, "late", [{ id: noted.id, topic: "sick", time: DUE + HOUR, since: DUE }]);
    for (const time of [0, MINUTE]) await world.file({ topic: "well", dueAt: DUE + time });
    await world.pass(3 * MINUTE, { ticks: false });
    silence(world, { partition, of: "reads" });
    const { status, json } = await call("GET", "/topics");
    expect(status).toBe(200);
    const late = Object.fromEntries((json.topics as Json[]).map(({ topic, late }) => [topic, late as Json]));
    expect(late.well?.count).toBe(partition === bucketOf(DUE + MINUTE, 0) ? 1 : 2);
    expect([late.well?.atLeast, late.sick?.atLeast]).toContain(partition === LATE_TOPICS ? undefined : true);
  },
);

test("an audit of late jobs waits once, not at each page, for the list of topics with late jobs", async () => {
  const world = createWorld({ shards: 1, topics: TOPICS }, { ...SIZES, page: 5 });
  await world.tick();
  await fileBoth(world, "sick", SECOND);
  for (const topic of Object.keys(TOPICS)) world.queues.purge({ topic });
  silence(world, { partition: LATE_TOPICS, of: "writes", takes: BATCH_PATIENCE });
  let longest = 0;
  for (let i = 0; i < 30; i++) {
    await world.pass(MINUTE, { ticks: false });
    const began = world.now();
    await world.tick();
    longest = Math.max(longest, world.now() - began);
  }
  expect(longest).toBe(BATCH_PATIENCE);
});

test("a partition whose reads fail slowly is read once a minute", async () => {
  const world = createWorld({ shards: 1, topics: TOPICS });
  const [own, other] = [parkedIn("sick", 0), parkedIn("slow", 0)];
  silence(world, { partition: own, of: "reads", takes: 15 * SECOND });
  const keys = [own, other].map((pk) => ({ pk, sk: "a" }));
  const ask = async (): Promise<number> => {
    const began = world.now();
    const [first, second] = await readApart(world.ctx, keys, (key) => key);
    expect([first?.[1].is, second?.[1].is]).toEqual(["unknown", "nothing"]);
    return world.now() - began;
  };
  expect([await ask(), await ask()]).toEqual([30 * SECOND, 0]);
  await world.pass(MINUTE, { ticks: false });
  expect(await ask()).toBe(30 * SECOND);
});

test("so is one that was read alone", async () => {
  const world = createWorld({ shards: 1, topics: TOPICS });
  const own = parkedIn("sick", 0);
  silence(world, { partition: own, of: "reads", takes: 15 * SECOND });
  for (const took of [15 * SECOND, 0]) {
    const began = world.now();
    const [read] = await readApart(world.ctx, [{ pk: own, sk: "a" }], (key) => key);
    expect(read?.[1].is).toBe("unknown");
    expect(world.now() - began).toBe(took);
  }
});

test("a job of a removed topic is not made dead because its note cannot be read", async () => {
  const world = createWorld({ shards: 1, topics: TOPICS });
  await world.tick();
  await pauseSick(world);
  const { id } = await world.file({ topic: "sick", delay: 5 * MINUTE });
  await resume(world.ctx, "sick", undefined);
  await world.pass(2 * HOUR, { ticks: false });
  const { sick: _, ...others } = world.ctx.policy.topics;
  const ctx = { ...world.ctx, policy: { ...world.ctx.policy, topics: others } };
  silence(world, { partition: parkedIn("sick", 0), of: "reads" });
  await tick(ctx, world.now() + MINUTE);
  expect(await world.home(id)).toMatchObject({ state: "scheduled" });
});
