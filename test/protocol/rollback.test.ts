import { expect, test } from "vitest";
import type { Item } from "../../core/items.ts";
import { cancel } from "../../protocol/change/cancel.ts";
import { pauseTopic } from "../../protocol/change/pause.ts";
import { enqueue } from "../../protocol/file/enqueue.ts";
import { promote } from "../../protocol/hand-over/promote.ts";
import { resume } from "../../protocol/hand-over/release.ts";
import { tick } from "../../protocol/hand-over/tick.ts";
import type { Context, Queues } from "../../protocol/ports.ts";
import { receive } from "../../protocol/run/pull.ts";
import { settlePulled } from "../../protocol/run/settle-pulled.ts";
import { consume, crashWhileRunning } from "../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../support/world.ts";

type Row = Record<string, unknown> & Item;

/** An item as version 2 writes it: `v` is 2, and a home's state has another name. */
function newer({ state, ...row }: Row): Item {
  const named = "dueAt" in row ? { phase: state } : state === undefined ? {} : { state };
  return { ...row, ...named, v: 2, colour: "red" } as unknown as Item;
}

function older({ phase, state = phase, colour: _, ...row }: Row): Item {
  return { ...row, ...(state === undefined ? {} : { state }), v: 1 } as unknown as Item;
}

const places = (world: World): Map<string, string> =>
  new Map(world.pool.items().map((item) => [`${item.pk} ${item.sk}`, JSON.stringify(item)]));
/** The layouts of `meta` and of cursors never change, by the rule of `core/items.ts`. */
const isFixed = ({ pk }: Item): boolean => pk === "meta" || pk.startsWith("cursor#");

/** Messages of version 2 have another name for their jobs. */
function newerQueues(queues: Queues): Queues {
  const written = (body: string): string => {
    const { jobs, ...message } = JSON.parse(body);
    return JSON.stringify({ ...message, v: 2, tasks: jobs });
  };
  const read = (body: string): string => {
    const { tasks, ...message } = JSON.parse(body);
    return tasks === undefined ? body : JSON.stringify({ ...message, v: 1, jobs: tasks });
  };
  return {
    ...queues,
    send: (queue, messages) =>
      queues.send(
        queue,
        messages.map((message) => ({ ...message, body: written(message.body) })),
      ),
    receive: async (queue, options) =>
      (await queues.receive(queue, options)).map((message) => ({ ...message, body: read(message.body) })),
  };
}

type Done = { id: string; at: number };

/** A deployment that changes between two versions, with one pool and one set of queues. */
function deployment() {
  const world = createWorld({
    shards: 2,
    longDelay: 10 * 3600,
    topics: {
      orders: { backoff: { waits: [600] }, maxAttempts: 3 },
      held: {},
      limited: { maxPerSecond: 1 },
      work: { consumer: "pull" },
      events: { consumer: "pull", tracking: "none" },
    },
  });
  const second: World = { ...world, queues: { ...world.queues, ...newerQueues(world.queues) } };
  second.ctx = { ...world.ctx, queues: second.queues };
  const runs: Done[] = [];
  const failing = new Set<string>();
  let before = new Map<string, string>();
  let current = world;

  const pullAll = async (ctx: Context, topic: string): Promise<void> => {
    for (const { id, receipt } of await receive(ctx, topic, { max: 10, waitSeconds: 0 }, world.timers)) {
      runs.push({ id, at: world.now() });
      await settlePulled(ctx, topic, receipt, { end: "done" });
    }
  };
  return {
    world,
    runs,
    failing,
    version: () => current,
    /** From now on version 2 runs. It can read the items of both versions. */
    forward() {
      for (const item of world.pool.items()) if (item.v === 2) world.pool.put(older(item as Row));
      before = places(world);
      current = second;
    },
    /** From now on version 1 runs again. All that version 2 has written or changed has its layout. */
    back() {
      for (const item of world.pool.items())
        if (!isFixed(item) && before.get(`${item.pk} ${item.sk}`) !== JSON.stringify(item))
          world.pool.put(newer(item as Row));
      current = world;
    },
    /** All items of version 2. */
    newerItems: (): Item[] => world.pool.items().filter(({ v }) => v === 2),
    /** Lets time pass, with a tick each minute and consumers that always work. */
    async pass(ms: number): Promise<void> {
      for (const end = world.now() + ms; world.now() < end; ) {
        await world.pass(30 * SECOND, { ticks: false });
        const { ctx } = current;
        for (const id of world.promotions.fire()) await promote(ctx, id);
        if (world.now() % MINUTE === 0) await tick(ctx, world.now() + MINUTE);
        for (const topic of ["orders", "held", "limited"]) {
          const run = ({ id }: { id: string }) => {
            if (failing.has(id)) return { end: "failed", error: "no" } as const;
            runs.push({ id, at: world.now() });
            return { end: "done" } as const;
          };
          await consume(current, topic, { ctx, run });
        }
        await pullAll(ctx, "events");
      }
    },
  };
}

test("jobs of a newer version wait for it through a rollback, and run once when it is back", async () => {
  const shop = deployment();
  const { world, runs } = shop;
  await shop.pass(MINUTE);
  const enqueueAs = async (job: Partial<Parameters<typeof enqueue>[1]> & { delay: number }) => {
    const { delay, ...more } = job;
    const { home } = await enqueue(shop.version().ctx, {
      topic: "orders",
      body: "{}",
      dueAt: world.now() + delay,
      ...more,
    });
    return home;
  };
  const early = await enqueueAs({ delay: 3 * HOUR });

  shop.forward();
  const once = { token: "t", hash: "h" };
  await pauseTopic(shop.version().ctx, "held");
  const parked = await enqueueAs({ topic: "held", delay: MINUTE });
  const failed = await enqueueAs({ delay: MINUTE });
  const dead = await enqueueAs({ delay: MINUTE, maxAttempts: 1 });
  shop.failing.add(failed.id);
  shop.failing.add(dead.id);
  await shop.pass(2 * MINUTE + 30 * SECOND);
  expect(await world.home(dead.id)).toMatchObject({ state: "dead" });
  expect(await world.home(failed.id)).toMatchObject({ state: "scheduled", attempt: 1 });
  shop.failing.delete(failed.id);
  const crashed = await enqueueAs({ delay: 0 });
  await crashWhileRunning(shop.version(), "orders");
  expect(await world.home(crashed.id)).toMatchObject({ state: "running" });
  const waiting = {
    now: await enqueueAs({ delay: 10 * SECOND }),
    soon: await enqueueAs({ delay: 10 * MINUTE }),
    later: await enqueueAs({ delay: 2 * HOUR }),
    afterwards: await enqueueAs({ delay: 20 * HOUR }),
    far: await enqueueAs({ delay: 11 * HOUR }),
    keyed: await enqueueAs({ delay: HOUR, key: "order-1" }),
    once: await enqueueAs({ delay: HOUR, once }),
    untrackedNow: await enqueueAs({ topic: "events", delay: 10 * SECOND }),
    untracked: await enqueueAs({ topic: "events", delay: HOUR }),
    limited: await enqueueAs({ topic: "limited", delay: 5 * MINUTE }),
    failed,
    crashed,
  };
  const limited = await enqueueAs({ topic: "limited", delay: 5 * MINUTE });
  expect(await world.home(waiting.far.id)).toMatchObject({ hasSchedule: true });
  const ranBefore = runs.length;

  shop.back();
  const written = shop.newerItems();
  const own: { id: string; dueAt: number }[] = [early];
  for (let hour = 0; hour < 12; hour++) {
    own.push(await enqueueAs({ delay: 30 * MINUTE, key: `own-${hour}` }));
    own.push(await enqueueAs({ topic: "events", delay: 40 * MINUTE }));
    own.push(await enqueueAs({ topic: "limited", delay: 50 * MINUTE }));
    await shop.pass(HOUR);
  }
  // Nothing of version 2 was changed, and nothing of version 1 was late.
  const stands = places(world);
  for (const item of written) expect(stands.get(`${item.pk} ${item.sk}`)).toBe(JSON.stringify(item));
  const ranMeanwhile = runs.slice(ranBefore);
  expect(ranMeanwhile.map(({ id }) => id).sort()).toEqual(own.map(({ id }) => id).sort());
  for (const { id, at } of ranMeanwhile) {
    const { dueAt } = own.find((job) => job.id === id) ?? { dueAt: 0 };
    expect(at - dueAt).toBeGreaterThanOrEqual(0);
    expect(at - dueAt).toBeLessThanOrEqual(30 * SECOND);
  }
  const { ctx } = shop.version();
  const unavailable = { code: "unavailable" };
  await expect(cancel(ctx, waiting.afterwards.id)).rejects.toMatchObject(unavailable);
  await expect(enqueueAs({ delay: HOUR, key: "order-1" })).rejects.toMatchObject(unavailable);
  await expect(enqueueAs({ delay: HOUR, once })).rejects.toMatchObject(unavailable);
  await expect(pauseTopic(ctx, "held")).rejects.toMatchObject(unavailable);
  expect(world.promotions.filed.has(waiting.far.id)).toBe(false);
  expect(world.events.some(({ type }) => type === "unreadable")).toBe(true);

  shop.forward();
  const ranOnReturn = runs.length;
  await resume(shop.version().ctx, "held", undefined);
  await shop.pass(12 * HOUR);
  expect(await world.home(dead.id)).toMatchObject({ state: "dead" });
  const expected = [...Object.values(waiting), limited, parked];
  const ranAfter = runs.slice(ranOnReturn).map(({ id }) => id);
  expect(ranAfter.sort()).toEqual(expected.map(({ id }) => id).sort());
  expect(world.queues.messages({ topic: "orders", dead: true })).toHaveLength(1);
});
