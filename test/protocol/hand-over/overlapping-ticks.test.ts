import { describe, expect, it } from "vitest";
import { cursorKey, sortable } from "../../../src/core/item-keys.ts";
import type { Cursor } from "../../../src/core/items.ts";
import { addressOf } from "../../../src/core/job-id.ts";
import { parseMessage } from "../../../src/core/message.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Context, Queues } from "../../../src/protocol/ports.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

/** Files jobs that are due at one time. Answers their ids. */
async function file(world: World, count: number, dueAt: number, topic: string): Promise<string[]> {
  const jobs = Array.from({ length: count }, () => ({ topic, body: "{}", dueAt }));
  return (await enqueueMany(world.ctx, jobs)).flatMap((one) => ("home" in one ? one.home.id : []));
}

/** The ids of the jobs in the messages of a topic. */
const sentOf = (world: World, topic: string): string[] =>
  world.queues.messages({ topic }).flatMap(({ body }) => parseMessage(body)?.jobs.map(({ id }) => id) ?? []);

/**
 * A context of another process, which calls `before` before it sends messages of a topic.
 * @param failing a topic whose queue takes no messages of this process
 */
function sending(
  world: World,
  ctx: Context,
  topic: string,
  before: () => Promise<void>,
  failing?: string,
): Context {
  const queues: Queues = {
    ...world.queues,
    async send(queue, messages) {
      if (!("topic" in queue)) return world.queues.send(queue, messages);
      if (queue.topic === topic) await before();
      return queue.topic === failing
        ? messages.map(() => ({ outcome: "failing", reason: "no such queue" }))
        : world.queues.send(queue, messages);
    },
  };
  return { ...ctx, queues, pool: Object.assign(Object.create(world.pool), {}) };
}

describe("a look that a slow tick files while another tick reads later minutes", () => {
  it.each([
    { after: 60 * SECOND, ahead: 0 },
    { after: 60 * SECOND, ahead: 15 * SECOND },
    { after: 125 * SECOND, ahead: 0 },
  ])(
    "is not missed: the other tick begins $after ms later, and its clock is $ahead ms ahead",
    async ({ after, ahead }) => {
      const topics = { logs: { tracking: "none" as const }, orders: {}, slow: {} };
      const world = createWorld({ shards: 1, topics }, { ...SIZES, page: 1, mark: 1000 });
      await world.tick();
      await file(world, 1, START + 10 * MINUTE, "slow");
      const ids = await file(world, 40, START + 20 * MINUTE, "logs");
      // The other tick sends this job in its last minute.
      await file(world, 1, START + HOUR + 180 * SECOND + after - 5 * SECOND, "orders");
      await world.pass(HOUR, { ticks: false });
      const [slowSends, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const hang = async (): Promise<void> => {
        slowSends.resolve();
        await mayGoOn.promise;
      };
      const slow = sending(world, world.ctx, "slow", hang, "logs");
      // The slow tick does not know the topic of the overdue jobs, and cannot send them. So it files looks at them.
      const { logs: _, ...known } = world.ctx.policy.topics;
      const policy = { ...world.ctx.policy, topics: known };
      const slowTick = tick({ ...slow, policy }, world.now() + 160 * SECOND);
      await slowSends.promise;
      await world.pass(after, { ticks: false });
      const other = sending(world, world.skewed(ahead), "orders", async () => {
        mayGoOn.resolve();
        await slowTick;
      });
      await tick(other, other.clock() + 160 * SECOND);
      await world.pass(3 * HOUR);
      expect(new Set(sentOf(world, "logs"))).toEqual(new Set(ids));
    },
  );
});

it("while a tick works on overdue jobs for long, the next tick does not send the jobs of a shard without overdue jobs again", async () => {
  const world = createWorld(
    { shards: 3, topics: { logs: { tracking: "none" }, slow: {} } },
    { ...SIZES, shards: 2, page: 5 },
  );
  await world.tick();
  await file(world, 200, START + 20 * MINUTE, "slow");
  const ids = await file(world, 60, START + HOUR + 150 * SECOND, "logs");
  await world.pass(HOUR, { ticks: false });
  // One shard has no backlog.
  const onTime = world.pool.items().find(({ pk }) => pk === cursorKey(2).pk) as Cursor;
  world.pool.put({ ...onTime, swept: sortable(world.now() + 2 * MINUTE) });
  const [sends, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hanging = async (): Promise<void> => {
    sends.resolve();
    await mayGoOn.promise;
  };
  const first = tick(sending(world, world.ctx, "slow", hanging), world.now() + 160 * SECOND);
  await sends.promise;
  // All steps of the first tick that do not hang come to their ends.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  await world.pass(MINUTE, { ticks: false });
  const second = tick(sending(world, world.ctx, "slow", hanging), world.now() + 160 * SECOND);
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  mayGoOn.resolve();
  await Promise.all([first, second]);
  const own = ids.filter((id) => addressOf(id).shard === 2).toSorted();
  expect(own.length).toBeGreaterThan(0);
  expect(
    sentOf(world, "logs")
      .filter((id) => own.includes(id))
      .toSorted(),
  ).toEqual(own);
});

it("a tick whose sends fail after another tick has sent the same jobs files no looks at them, which would send them again", async () => {
  const world = createWorld({ shards: 1, topics: { logs: { tracking: "none" } } });
  await world.tick();
  const ids = await file(world, 10, START + 20 * MINUTE, "logs");
  await world.pass(HOUR, { ticks: false });
  const [sends, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hang = async (): Promise<void> => {
    sends.resolve();
    await mayGoOn.promise;
  };
  const slow = tick(sending(world, world.ctx, "logs", hang, "logs"), world.now() + 160 * SECOND);
  await sends.promise;
  await world.tick();
  mayGoOn.resolve();
  await slow;
  await world.pass(2 * HOUR);
  expect(sentOf(world, "logs").toSorted()).toEqual(ids.toSorted());
});
