import { describe, expect, it } from "vitest";
import { addressOf } from "../../../src/core/job-id.ts";
import { parseMessage } from "../../../src/core/message.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Queues } from "../../../src/protocol/ports.ts";
import { cursors } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

/** Files jobs of the topic, all due at one time. Answers their ids. */
async function file(world: World, count: number, dueAt: number, topic = "orders"): Promise<string[]> {
  const jobs = Array.from({ length: count }, () => ({ topic, body: "{}", dueAt }));
  return (await enqueueMany(world.ctx, jobs)).flatMap((one) => ("home" in one ? one.home.id : []));
}

/** The ids of the jobs whose messages were sent. */
const sentOf = (world: World, topic = "orders"): string[] =>
  world.queues.messages({ topic }).flatMap(({ body }) => parseMessage(body)?.jobs.map(({ id }) => id) ?? []);

/** Runs a tick that has no time left once it has sent `most` messages. */
async function shortTick(world: World, most: number): Promise<void> {
  const before = sentOf(world).length;
  const clock = (): number => world.now() + (sentOf(world).length - before >= most ? 31 * SECOND : 0);
  await tick({ ...world.ctx, clock }, world.now() + 30 * SECOND);
}

const SMALL = { ...SIZES, page: 10, mark: 10, packBytes: 1, shards: 2 };

describe("after an outage", () => {
  it("ticks that have no time for all overdue jobs send new jobs in time, and each job once", async () => {
    const world = createWorld({ shards: 2 }, SMALL);
    await world.tick();
    const overdue = await file(world, 200, START + 20 * MINUTE);
    const fresh = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        const dueAt = START + HOUR + i * MINUTE + 30 * SECOND;
        return { dueAt, ids: await file(world, 4, dueAt) };
      }),
    );
    await world.pass(HOUR, { ticks: false });
    for (let i = 0; i < 10; i++) {
      await shortTick(world, 24);
      const sent = new Set(sentOf(world));
      const near = fresh.filter(({ dueAt }) => dueAt < world.now() + 2 * MINUTE).flatMap(({ ids }) => ids);
      expect(near.filter((id) => !sent.has(id))).toEqual([]);
      await world.pass(MINUTE, { ticks: false });
    }
    for (let i = 0; i < 3; i++) {
      await world.tick();
      await world.pass(MINUTE, { ticks: false });
    }
    const all = [...overdue, ...fresh.flatMap(({ ids }) => ids)];
    expect(sentOf(world).toSorted()).toEqual(all.toSorted());
    expect(cursors(world).map(({ ahead }) => ahead)).toEqual([undefined, undefined]);
  });

  it("new jobs of all shards are sent before the overdue jobs of all shards but one", async () => {
    const world = createWorld({ shards: 4 }, SMALL);
    await world.tick();
    const overdue = await file(world, 400, START + 20 * MINUTE);
    const fresh = await file(world, 40, START + HOUR + 30 * SECOND);
    await world.pass(HOUR, { ticks: false });
    const sent: string[] = [];
    const queues: Queues = {
      ...world.queues,
      send(queue, messages) {
        sent.push(...messages.flatMap(({ body }) => parseMessage(body)?.jobs.map(({ id }) => id) ?? []));
        return world.queues.send(queue, messages);
      },
    };
    await tick({ ...world.ctx, queues }, world.now() + MINUTE);
    const late = new Set(overdue);
    const last = Math.max(...fresh.map((id) => sent.indexOf(id)));
    const before = sent.slice(0, last).filter((id) => late.has(id));
    expect(sent).toHaveLength(overdue.length + fresh.length);
    expect(new Set(before.map((id) => addressOf(id).shard)).size).toBeLessThanOrEqual(1);
  });

  it("an untracked job that SQS does not take at first is sent minutes later, however late it was before", async () => {
    const world = createWorld({ topics: { orders: {}, bulk: { tracking: "none" } } });
    await world.tick();
    await file(world, 1, START + 10 * MINUTE, "bulk");
    await world.pass(2 * HOUR, { ticks: false });
    const queues: Queues = {
      ...world.queues,
      send: async (_, messages) =>
        messages.map(() => ({ outcome: "unreachable", reason: "SQS answers 503" })),
    };
    await tick({ ...world.ctx, queues }, world.now() + MINUTE);
    await world.pass(8 * MINUTE);
    expect(sentOf(world, "bulk")).toHaveLength(1);
  });

  it("an untracked job is sent once, whichever process works off the rest", async () => {
    const world = createWorld({ shards: 1, topics: { logs: { tracking: "none" } } }, SMALL);
    await world.tick();
    const ids = [
      ...(await file(world, 50, START + 20 * MINUTE, "logs")),
      ...(await file(world, 20, START + HOUR + 30 * SECOND, "logs")),
    ];
    await world.pass(HOUR, { ticks: false });
    for (let i = 0; i < 8; i++) {
      const before = sentOf(world, "logs").length;
      const clock = (): number =>
        world.now() + (sentOf(world, "logs").length - before > 15 ? 31 * SECOND : 0);
      const pool = Object.assign(Object.create(world.pool), {});
      await tick({ ...world.ctx, pool, clock }, world.now() + 30 * SECOND);
      await world.pass(MINUTE, { ticks: false });
    }
    expect(sentOf(world, "logs").toSorted()).toEqual(ids.toSorted());
  });
});
