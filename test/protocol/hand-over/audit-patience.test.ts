import { expect, test } from "vitest";
import { HEALTHY_READY } from "../../../src/core/constants.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { consume } from "../../support/consume.ts";
import { orders } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const BACKLOG = HEALTHY_READY + 1;

/** Files jobs that are due now, all in one second, and answers their ids. */
async function fileMany(world: World, count: number): Promise<string[]> {
  const jobs = Array.from({ length: count }, () => ({ topic: "orders", body: "{}", dueAt: world.now() }));
  return (await enqueueMany(world.ctx, jobs)).map((filed) => ("home" in filed ? filed.home.id : ""));
}

/** Files so many jobs one by one: each has a message of its own. */
async function fileSingly(world: World, count: number, delay = 0): Promise<void> {
  for (let i = 0; i < count; i++) await world.file({ delay });
}

async function consumeAll(world: World): Promise<string[]> {
  const ids: string[] = [];
  while (world.visible("orders").length > 0)
    ids.push(...(await consume(world, "orders")).map(({ id }) => id));
  return ids;
}

/** Lets minutes pass. `busy` files jobs just before each tick, and consumers run all jobs just after it. Answers which jobs ran. */
async function passBusily(world: World, minutes: number, busy: () => Promise<unknown>): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < minutes; i++) {
    await world.pass(MINUTE - SECOND);
    await busy();
    await world.pass(SECOND);
    ids.push(...(await consumeAll(world)));
  }
  return ids;
}

test("while a ready queue shows a backlog, a job less than an hour late gets no second message", async () => {
  const world = createWorld();
  await world.tick();
  await fileSingly(world, BACKLOG);
  await world.pass(50 * MINUTE);
  expect(world.queues.messages(orders)).toHaveLength(BACKLOG);
});

test("the jobs of a purged queue are sent again within a quarter of an hour, even if a message is visible at each audit", async () => {
  const world = createWorld();
  await world.tick();
  const lost = await fileMany(world, 20);
  world.queues.purge(orders);
  const ran = await passBusily(world, 15, () => fileSingly(world, 1));
  expect(ran).toEqual(expect.arrayContaining(lost));
});

test("the jobs of a purged queue are also sent again if many messages are visible at each audit, because more jobs come", async () => {
  const world = createWorld();
  await world.tick();
  const lost = await fileMany(world, 20);
  world.queues.purge(orders);
  const ran = await passBusily(world, 15, async () => {
    await fileSingly(world, BACKLOG);
    await fileSingly(world, BACKLOG, 90 * SECOND);
  });
  expect(ran).toEqual(expect.arrayContaining(lost));
});

test("messages that an audit sends again do not count as a backlog for the shards that are audited next", async () => {
  const world = createWorld({ shards: 32 });
  await world.tick();
  const lost = await fileMany(world, 500);
  world.queues.purge(orders);
  await world.pass(15 * MINUTE);
  expect(new Set(world.visible("orders").map(({ id }) => id))).toEqual(new Set(lost));
});

test("messages that a sweep sends after an outage do not count as a backlog for the next audits", async () => {
  const world = createWorld({}, { ...SIZES, healthyReady: 10 });
  await world.tick();
  const lost = await fileMany(world, 20);
  world.queues.purge(orders);
  await fileSingly(world, 1_000, 10 * MINUTE);
  await world.pass(30 * MINUTE, { ticks: false });
  await world.tick();
  const sent = new Set(world.visible("orders").map(({ id }) => id));
  expect(lost.filter((id) => !sent.has(id))).toEqual([]);
});

test("a lost job that was taken for one of a backlog is judged again some minutes later", async () => {
  const world = createWorld();
  await world.tick();
  const { id } = await world.file({});
  world.queues.purge(orders);
  await world.pass(6 * MINUTE);
  await fileSingly(world, BACKLOG);
  await world.pass(6 * MINUTE);
  expect(await consumeAll(world)).not.toContain(id);
  await world.pass(8 * MINUTE);
  expect(await consumeAll(world)).toEqual([id]);
});

test("jobs whose consumer has crashed before each claim for hours run within 75 minutes of its repair", async () => {
  const world = createWorld({ shards: 1 });
  const filed = new Set<string>();
  for (let i = 0; i < 20; i++) filed.add((await world.file({ delay: 5 * MINUTE + i * SECOND })).id);
  await world.pass(5 * MINUTE);
  const crash = async (): Promise<void> => {
    const request = { max: 10, waitSeconds: 0, hideSeconds: 90 };
    while ((await world.queues.receive(orders, request)).length > 0);
  };
  for (const repaired = world.now() + 6 * HOUR; world.now() < repaired; await world.pass(10 * SECOND))
    await crash();
  expect(world.queues.messages({ ...orders, dead: true }).length).toBeGreaterThan(0);
  const end = world.now() + 75 * MINUTE;
  for (; world.now() < end && filed.size > 0; await world.pass(10 * SECOND))
    for (const { id } of await consume(world, "orders")) filed.delete(id);
  expect(filed).toEqual(new Set());
});

test("a backlog of a day adds few messages a job", async () => {
  const world = createWorld({ shards: 1 });
  const filed = 24 * 12;
  for (let i = 0; i < filed; i++) {
    await world.file({});
    await world.pass(5 * MINUTE);
  }
  const messages = world.queues.messages(orders).length;
  expect(messages / filed).toBeLessThan(5);
});
