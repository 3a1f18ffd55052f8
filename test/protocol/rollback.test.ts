import { expect, test } from "vitest";
import type { Home } from "../../src/core/home.ts";
import type { Item } from "../../src/core/items.ts";
import { cancel } from "../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../src/protocol/change/pause.ts";
import { enqueue } from "../../src/protocol/file/enqueue.ts";
import { promote } from "../../src/protocol/hand-over/promote.ts";
import { resume } from "../../src/protocol/hand-over/release.ts";
import { tick } from "../../src/protocol/hand-over/tick.ts";
import type { Context, Queues } from "../../src/protocol/ports.ts";
import { receive } from "../../src/protocol/run/pull.ts";
import { settlePulled } from "../../src/protocol/run/settle-pulled.ts";
import type { Policy } from "../../src/settings/policy.ts";
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
/** The layouts of `meta` and of cursors never change, by the rule of `src/core/items.ts`. */
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

const SHOP: Partial<Policy> = {
  shards: 2,
  longDelay: 10 * 3600,
  topics: {
    orders: { backoff: { waits: [600] }, maxAttempts: 3 },
    held: {},
    limited: { maxPerSecond: 1 },
    work: { consumer: "pull" },
    events: { consumer: "pull", tracking: "none" },
  },
};

/** A deployment that changes between two versions, with one pool and one set of queues. */
function deployment() {
  const world = createWorld(SHOP);
  const second: World = { ...world, queues: { ...world.queues, ...newerQueues(world.queues) } };
  second.ctx = { ...world.ctx, queues: second.queues };
  const { runs, failing, work } = workersOf(world);
  let before = new Map<string, string>();
  let current = world;
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
        await work(current);
      }
    },
  };
}

/** The functions of both versions. `failing`: the jobs whose runs fail. */
function workersOf(world: World) {
  const runs: Done[] = [];
  const failing = new Set<string>();
  const run = ({ id }: { id: string }) => {
    if (failing.has(id)) return { end: "failed", error: "no" } as const;
    runs.push({ id, at: world.now() });
    return { end: "done" } as const;
  };
  const pullAll = async (ctx: Context, topic: string): Promise<void> => {
    for (const { id, receipt } of await receive(ctx, topic, { max: 10, waitSeconds: 0 }, world.timers)) {
      runs.push({ id, at: world.now() });
      await settlePulled(ctx, topic, receipt, { end: "done" });
    }
  };
  const work = async (version: World): Promise<void> => {
    const { ctx } = version;
    for (const id of world.promotions.fire()) await promote(ctx, id);
    if (world.now() % MINUTE === 0) await tick(ctx, world.now() + MINUTE);
    for (const topic of ["orders", "held", "limited"]) await consume(version, topic, { ctx, run });
    await pullAll(ctx, "events");
  };
  return { runs, failing, work };
}

type Shop = ReturnType<typeof deployment>;
type Wanted = Partial<Parameters<typeof enqueue>[1]> & { delay: number };

/** Files a job as the version does that runs now. */
async function enqueueAs({ world, version }: Shop, { delay, ...more }: Wanted): Promise<Home> {
  const dueAt = world.now() + delay;
  const { home } = await enqueue(version().ctx, { topic: "orders", body: "{}", dueAt, ...more });
  return home;
}

const ONCE = { token: "t", hash: "h" };

test("jobs of a newer version wait for it through a rollback, and run once when it is back", async () => {
  const shop = deployment();
  const { world, runs } = shop;
  await shop.pass(MINUTE);
  const early = await enqueueAs(shop, { delay: 3 * HOUR });

  shop.forward();
  const { dead, waiting, others } = await fileAsNewer(shop);
  const ranBefore = runs.length;

  shop.back();
  const written = shop.newerItems();
  const own = [early, ...(await runTwelveHours(shop))];
  // Nothing of version 2 was changed, and nothing of version 1 was late.
  const stands = places(world);
  for (const item of written) expect(stands.get(`${item.pk} ${item.sk}`)).toBe(JSON.stringify(item));
  expectOnTime(runs.slice(ranBefore), own);
  await expectUnavailable(shop, waiting.afterwards.id);
  expect(world.promotions.filed.has(waiting.far.id)).toBe(false);
  expect(world.events.some(({ type }) => type === "unreadable")).toBe(true);

  shop.forward();
  const ranOnReturn = runs.length;
  await resume(shop.version().ctx, "held", undefined);
  await shop.pass(12 * HOUR);
  expect(await world.home(dead.id)).toMatchObject({ state: "dead" });
  const expected = [...Object.values(waiting), ...others];
  const ranAfter = runs.slice(ranOnReturn).map(({ id }) => id);
  expect(ranAfter.sort()).toEqual(expected.map(({ id }) => id).sort());
  expect(world.queues.messages({ topic: "orders", dead: true })).toHaveLength(1);
});

/** Files jobs as version 2, which brings some of them into their states before the rollback. */
async function fileAsNewer(shop: Shop) {
  const { world } = shop;
  await pauseTopic(shop.version().ctx, "held");
  const parked = await enqueueAs(shop, { topic: "held", delay: MINUTE });
  const failed = await enqueueAs(shop, { delay: MINUTE });
  const dead = await enqueueAs(shop, { delay: MINUTE, maxAttempts: 1 });
  shop.failing.add(failed.id);
  shop.failing.add(dead.id);
  await shop.pass(2 * MINUTE + 30 * SECOND);
  expect(await world.home(dead.id)).toMatchObject({ state: "dead" });
  expect(await world.home(failed.id)).toMatchObject({ state: "scheduled", attempt: 1 });
  shop.failing.delete(failed.id);
  const crashed = await enqueueAs(shop, { delay: 0 });
  await crashWhileRunning(shop.version(), "orders");
  expect(await world.home(crashed.id)).toMatchObject({ state: "running" });
  const waiting = {
    now: await enqueueAs(shop, { delay: 10 * SECOND }),
    soon: await enqueueAs(shop, { delay: 10 * MINUTE }),
    later: await enqueueAs(shop, { delay: 2 * HOUR }),
    afterwards: await enqueueAs(shop, { delay: 20 * HOUR }),
    far: await enqueueAs(shop, { delay: 11 * HOUR }),
    keyed: await enqueueAs(shop, { delay: HOUR, key: "order-1" }),
    once: await enqueueAs(shop, { delay: HOUR, once: ONCE }),
    untrackedNow: await enqueueAs(shop, { topic: "events", delay: 10 * SECOND }),
    untracked: await enqueueAs(shop, { topic: "events", delay: HOUR }),
    limited: await enqueueAs(shop, { topic: "limited", delay: 5 * MINUTE }),
  };
  const limited = await enqueueAs(shop, { topic: "limited", delay: 5 * MINUTE });
  expect(await world.home(waiting.far.id)).toMatchObject({ hasSchedule: true });
  return { dead, waiting, others: [failed, crashed, limited, parked] };
}

/** Files jobs of three topics in each hour, and runs them. Answers them. */
async function runTwelveHours(shop: Shop): Promise<Home[]> {
  const own: Home[] = [];
  for (let hour = 0; hour < 12; hour++) {
    own.push(await enqueueAs(shop, { delay: 30 * MINUTE, key: `own-${hour}` }));
    own.push(await enqueueAs(shop, { topic: "events", delay: 40 * MINUTE }));
    own.push(await enqueueAs(shop, { topic: "limited", delay: 50 * MINUTE }));
    await shop.pass(HOUR);
  }
  return own;
}

function expectOnTime(runs: readonly Done[], jobs: readonly Home[]): void {
  expect(runs.map(({ id }) => id).sort()).toEqual(jobs.map(({ id }) => id).sort());
  for (const { id, at } of runs) {
    const { dueAt } = jobs.find((job) => job.id === id) ?? { dueAt: 0 };
    expect(at - dueAt).toBeGreaterThanOrEqual(0);
    expect(at - dueAt).toBeLessThanOrEqual(30 * SECOND);
  }
}

/** What version 1 cannot read, it does not change. */
async function expectUnavailable(shop: Shop, id: string): Promise<void> {
  const { ctx } = shop.version();
  const unavailable = { code: "unavailable" };
  await expect(cancel(ctx, id)).rejects.toMatchObject(unavailable);
  await expect(enqueueAs(shop, { delay: HOUR, key: "order-1" })).rejects.toMatchObject(unavailable);
  await expect(enqueueAs(shop, { delay: HOUR, once: ONCE })).rejects.toMatchObject(unavailable);
  await expect(pauseTopic(ctx, "held")).rejects.toMatchObject(unavailable);
}
