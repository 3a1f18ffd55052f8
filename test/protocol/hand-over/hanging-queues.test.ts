import { describe, expect, it } from "vitest";
import { cursorKey, timeOf } from "../../../src/core/item-keys.ts";
import type { Cursor } from "../../../src/core/items.ts";
import { parseMessage } from "../../../src/core/message.ts";
import { storedRanges } from "../../../src/core/ranges.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Pool, QueueName, Queues } from "../../../src/protocol/ports.ts";
import { fileLooks } from "../../../src/protocol/store/looks.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

/** How long the client waits for a call that hangs, with all its tries. */
const HANGS = 15 * SECOND;
const FUNCTION_TIMEOUT = 180 * SECOND;
const JOBS = 1_500;

type Stage = { world: World; hung: Set<string>; sent: Map<string, number>; runTick: () => Promise<number> };

/** How long the calls of a tick that hung took, and when the tick is killed. */
type Time = { lost: number; killedAt: number };

/**
 * A world whose calls to `hung` queues take as long as their client waits, and whose ticks are killed at their function's
 * timeout. `runTick` answers how long a tick took.
 */
function stage(topics: readonly string[], shards = 1): Stage {
  const policy = { shards, topics: Object.fromEntries(topics.map((topic) => [topic, {}])) };
  const world = createWorld(policy, { ...SIZES, page: 100 });
  const hung = new Set<string>();
  const time: Time = { lost: 0, killedAt: Number.POSITIVE_INFINITY };
  const clock = (): number => world.now() + time.lost;
  const { queues, sent } = hangingQueues(world, hung, time);
  const pool = mortalPool(world.pool, () => clock() < time.killedAt);
  return {
    world,
    hung,
    sent,
    async runTick() {
      time.lost = 0;
      time.killedAt = world.now() + FUNCTION_TIMEOUT;
      const ctx = { ...world.ctx, pool, queues, clock };
      await tick(ctx, time.killedAt - 20 * SECOND).catch(() => {});
      const took = time.lost;
      time.lost = 0;
      return took;
    },
  };
}

/** The queues, and how often each job was sent. */
function hangingQueues(world: World, hung: ReadonlySet<string>, time: Time) {
  const sent = new Map<string, number>();
  // Calls that hang at the same time overlap, so only the longest counts.
  const hangs = async (queue: QueueName): Promise<boolean> => {
    if (!hung.has(`${queue.events ? "events" : queue.topic}${queue.dead ? " dead" : ""}`)) return false;
    const until = time.lost + HANGS;
    await new Promise(setImmediate);
    time.lost = Math.max(time.lost, until);
    return true;
  };
  const queues: Queues = {
    ...world.queues,
    async send(queue, messages) {
      if (await hangs(queue)) return messages.map(() => ({ outcome: "unreachable", reason: "TimeoutError" }));
      for (const { body } of messages)
        for (const { id } of parseMessage(body)?.jobs ?? []) sent.set(id, (sent.get(id) ?? 0) + 1);
      return messages.map(() => ({ outcome: "sent" }));
    },
    async depth(queue) {
      if (await hangs(queue)) throw new Error("TimeoutError");
      return world.queues.depth(queue);
    },
  };
  return { queues, sent };
}

/** A pool whose calls fail once the tick is killed. */
function mortalPool(pool: Pool, isAlive: () => boolean): Pool {
  const alive =
    <A extends unknown[], R>(call: (...asked: A) => Promise<R>) =>
    (...asked: A): Promise<R> =>
      isAlive() ? call(...asked) : Promise.reject(new Error("killed"));
  return {
    ...pool,
    page: alive(pool.page),
    read: alive(pool.read),
    // The world's own clock stands still during a tick, so writes here have no deadline.
    change: alive((change) => pool.change(change, Number.POSITIVE_INFINITY)),
    insert: alive((items) => pool.insert(items, Number.POSITIVE_INFINITY)),
  };
}

function sweptOf({ world }: Pick<Stage, "world">): string {
  return (world.pool.items().find(({ pk }) => pk === cursorKey(0).pk) as Cursor).swept;
}

async function fileJobs(
  { world }: Pick<Stage, "world">,
  topics: readonly string[],
  count: number,
  delay = 10 * MINUTE,
): Promise<Set<string>> {
  const dueAt = world.now() + delay;
  const ids = new Set<string>();
  for (const topic of topics) {
    const jobs = Array.from({ length: count }, (_, i) => ({ topic, body: "{}", dueAt: dueAt + i * 30 }));
    for (const filed of await enqueueMany(world.ctx, jobs)) if ("home" in filed) ids.add(filed.home.id);
  }
  return ids;
}

describe("one queue whose calls hang", () => {
  it("delays no job of another topic, and the cursor keeps up", async () => {
    const scene = stage(["hung", "well"]);
    const { world, hung, sent, runTick } = scene;
    await world.tick();
    const [sick, healthy] = [await fileJobs(scene, ["hung"], JOBS), await fileJobs(scene, ["well"], JOBS)];
    await world.pass(8 * MINUTE, { ticks: false });
    hung.add("hung");
    for (let i = 0; i < 4; i++) {
      expect(await runTick()).toBeLessThan(3 * HANGS);
      expect(timeOf(sweptOf(scene))).toBeGreaterThanOrEqual(world.now() + 2 * MINUTE);
      expect([...healthy].filter((id) => !sent.has(id))).toEqual([]);
      await world.pass(MINUTE, { ticks: false });
    }
    expect([...sent.values()].filter((times) => times > 1)).toEqual([]);
    hung.clear();
    for (let i = 0; i < 6; i++) {
      await runTick();
      await world.pass(MINUTE, { ticks: false });
    }
    expect([...sick].filter((id) => !sent.has(id))).toEqual([]);
  });

  it("does not disturb the audit and the DLQs of other topics", async () => {
    const scene = stage(["hung", "well"]);
    const { world, hung, sent, runTick } = scene;
    await world.tick();
    const healthy = await fileJobs(scene, ["hung", "well"], 300);
    for (let i = 0; i < 10; i++, await world.pass(MINUTE, { ticks: false })) await runTick();
    for (const name of ["hung", "hung dead"]) hung.add(name);
    sent.clear();
    for (let i = 0; i < 20; i++) {
      expect(await runTick()).toBeLessThan(4 * HANGS);
      await world.pass(MINUTE, { ticks: false });
    }
    // No consumer ran these jobs, so the audit sends them again.
    expect([...healthy].filter((id) => sent.has(id))).toHaveLength(300);
  });

  it("stops no sweep if the only other topic with jobs is being resumed at a rate", async () => {
    const world = createWorld({ shards: 1, topics: { sick: {}, well: {} } });
    const sick = await world.file({ topic: "sick", delay: 10 * MINUTE });
    const parked = await world.file({ topic: "well", delay: 10 * MINUTE });
    for (let i = 0; i < 20; i++) await world.file({ topic: "well", delay: 10 * MINUTE - 1 });
    await pauseTopic(world.ctx, "well");
    await world.pass(9 * MINUTE);
    world.queues.trouble({ topic: "sick" }, "unreachable");
    await world.pass(6 * MINUTE);
    await resume(world.ctx, "well", 0.001);
    // A page with looks of a job of each topic. One job cannot be sent, and a release will send the other.
    const time = world.now() + 10 * MINUTE;
    const looks = [sick, parked].map(({ id }, i) => ({ id, time: time + i }));
    await fileLooks(world.ctx, looks, world.now() + MINUTE);
    const later = await world.file({ topic: "well", delay: 12 * MINUTE });
    await world.pass(12 * MINUTE);
    expect((await consume(world, "well")).map(({ id }) => id)).toContain(later.id);
  });

  it("is distinguished from an unreachable SQS even if another queue hangs too", async () => {
    const scene = stage(["hung", "hung-too", "well"]);
    const { world, hung, sent, runTick } = scene;
    await world.tick();
    await fileJobs(scene, ["hung"], 200);
    const healthy = await fileJobs(scene, ["well"], 200, 10 * MINUTE + 20 * SECOND);
    await world.pass(8 * MINUTE, { ticks: false });
    for (const topic of ["hung", "hung-too"]) hung.add(topic);
    // The first pages have jobs of only one topic.
    await runTick();
    expect([...healthy].filter((id) => !sent.has(id))).toEqual([]);
  });

  it("is distinguished from an unreachable SQS even if dozens of queues hang", async () => {
    const sick = Array.from({ length: 40 }, (_, i) => `hung-${i}`);
    const scene = stage([...sick, "well"]);
    const { world, hung, sent, runTick } = scene;
    await world.tick();
    await fileJobs(scene, ["hung-0"], 200);
    const healthy = await fileJobs(scene, ["well"], 200, 10 * MINUTE + 20 * SECOND);
    await world.pass(8 * MINUTE, { ticks: false });
    for (const topic of sick) hung.add(topic);
    expect(await runTick()).toBeLessThan(5 * HANGS);
    expect([...healthy].filter((id) => !sent.has(id))).toEqual([]);
  });

  it("makes the next tick repeat only some seconds of work after a slow tick was killed", async () => {
    const world = createWorld({ shards: 1 }, { ...SIZES, page: 20 });
    await world.tick();
    await fileJobs({ world }, ["orders"], 1_000);
    await world.pass(8 * MINUTE, { ticks: false });
    let lost = 0;
    const sent: number[] = [];
    const queues: Queues = {
      ...world.queues,
      async send(_, messages) {
        lost += 4 * SECOND;
        if (lost > 2 * MINUTE) throw new Error("killed");
        sent.push(...messages.flatMap(({ body }) => parseMessage(body)?.jobs ?? []).map(() => lost));
        return messages.map(() => ({ outcome: "sent" }));
      },
    };
    const ctx = { ...world.ctx, queues, clock: () => world.now() + lost };
    const change: Pool["change"] = (wanted) => world.pool.change(wanted, Number.POSITIVE_INFINITY);
    await tick({ ...ctx, pool: { ...world.pool, change } }, world.now() + 150 * SECOND).catch(() => {});
    const { swept, ahead } = world.pool.items().find(({ pk }) => pk === cursorKey(0).pk) as Cursor;
    const ranges = storedRanges(ahead);
    const isDone = (sk: string): boolean => sk < swept || ranges.some(({ from, to }) => from < sk && sk < to);
    const done = world.pool.items().filter(({ sk, ...item }) => "state" in item && isDone(sk)).length;
    expect(done).toBeGreaterThanOrEqual(sent.filter((at) => at <= (2 * 60 - 16) * SECOND).length);
    expect(done).toBeGreaterThan(100);
  });
});
