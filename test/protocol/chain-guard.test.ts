import { expect, test } from "vitest";
import { type DirectClient, directOn } from "../../src/client/direct-client.ts";
import { type Job, runWith } from "../../src/consumer/run-handler.ts";
import type { MinutehandError } from "../../src/core/errors.ts";
import type { Home } from "../../src/core/home.ts";
import type { Item } from "../../src/core/items.ts";
import { routes } from "../../src/http/route-table.ts";
import type { Policy } from "../../src/settings/policy.ts";
import { clientInside } from "../../src/testing/client-inside.ts";
import { consume } from "../support/consume.ts";
import { createWorld, SECOND, type World } from "../support/world.ts";

const MOST = 200;
const DAY = 86_400 * SECOND;
/** Seconds. A job that is due so soon is sent by its writer, so no ticks are needed. */
const EVERY = 200;
/** How many jobs run in two days. */
const DAYS_RUNS = 864;

type Files = (client: DirectClient, job: Job) => unknown;

/** A queue whose handler files jobs with one of the two clients. */
function createLoop(handler: Files, over: "http" | "direct" = "direct", policy: Partial<Policy> = {}) {
  const topics = { orders: {}, logs: { tracking: "none" } } as const;
  const world = createWorld({ maxFiledPerChain: MOST, topics, ...policy });
  const counts: string[] = [];
  world.pool.hooks.before = ({ operation, keys: [key] }) => {
    if (operation === "count") counts.push(String(key?.pk));
  };
  const client = over === "direct" ? directOn(world.ctx, console) : clientInside(world.ctx, console, routes);
  const run = runWith((job) => handler(client, job));
  const never = new AbortController().signal;
  /** Runs all jobs that are due within `ms`. Answers how many have run. */
  const play = async (ms: number, step = SECOND): Promise<number> => {
    let runs = 0;
    const ticks = step > EVERY * SECOND ? {} : ({ ticks: false } as const);
    for (const end = world.now() + ms; world.now() < end; await world.pass(step, ticks)) {
      for (const topic of Object.keys(topics)) {
        for (;;) {
          const some = await consume(world, topic, { run: (job) => run(job, topic, never) });
          if (some.length === 0) break;
          runs += some.length;
        }
      }
    }
    return runs;
  };
  return { world, client, counts, play };
}

const homesIn = ({ pool }: World) => pool.items().filter((item: Item): item is Home => "body" in item);
const runaways = ({ events }: World) => events.filter(({ type }) => type === "runaway");
const errorOf = ({ world }: { world: World }) =>
  homesIn(world).find(({ state }) => state === "dead")?.lastError;

test.each(["direct", "http"] as const)(
  "a handler that files its own next job is stopped at the bound, over the %s client",
  async (over) => {
    const loop = createLoop((client) => client.enqueue("orders", 1, { delay: 1 }), over);
    const { id } = await loop.client.enqueue("orders", 1, { delay: 0 });
    // The first job, two generations that are not counted, and as many as the bound allows.
    expect(await loop.play(10 * MOST * SECOND)).toBe(MOST + 3);
    expect(errorOf(loop)).toContain(
      `may file at most ${MOST} jobs on a day (UTC); this job of topic orders would be generation ${MOST + 3} after job ${id}`,
    );
    expect(runaways(loop.world)[0]).toMatchObject({ topic: "orders", id, jobs: MOST / 2 + 1 });
  },
);

test("a loop that doubles is stopped at the bound too, and leaves no job that could go on with it on the next day", async () => {
  const { client, play, world } = createLoop((client) =>
    Promise.all([1, 2].map((n) => client.enqueue("orders", n, { delay: 1 }))),
  );
  await client.enqueue("orders", 1, { delay: 0 });
  const runs = await play(30 * SECOND);
  expect(runs).toBe(MOST + 7);
  const states = Object.groupBy(homesIn(world), ({ state }) => state);
  expect(Object.keys(states).sort()).toEqual(["dead", "done"]);
});

test("a loop that doubles each hour is stopped too, because no wait makes a chain new", async () => {
  const { client, play } = createLoop((client) =>
    client.enqueueMany([1, 2].map((n) => ({ topic: "orders", body: n, delay: "1h" }))),
  );
  await client.enqueue("orders", 1, { delay: 0 });
  expect(await play(14 * 3600 * SECOND, 600 * SECOND)).toBeLessThanOrEqual(MOST + 7);
});

test("an untracked loop is stopped", async () => {
  const { client, play } = createLoop((client) => client.enqueue("logs", 1, { delay: 1 }));
  await client.enqueue("logs", 1, { delay: 0 });
  expect(await play(10 * MOST * SECOND)).toBe(MOST + 3);
});

test("a chain that stays below the bound on each day goes on for ever", async () => {
  const { client, play } = createLoop((client) => client.enqueue("orders", 1, { delay: EVERY }), "direct", {
    maxFiledPerChain: 500,
  });
  await client.enqueue("orders", 1, { delay: 0 });
  expect(await play(2 * DAY, EVERY * SECOND)).toBe(DAYS_RUNS);
});

test("a fan-out of two steps is not counted, whatever its width", async () => {
  const { client, play, counts } = createLoop((client, { body }) => {
    if (body === 2) return undefined;
    const jobs = Array.from({ length: body === 0 ? 20 : 25 }, () => ({
      topic: "orders",
      body: Number(body) + 1,
      delay: 0,
    }));
    return client.enqueueMany(jobs);
  });
  await client.enqueue("orders", 0, { delay: 0 });
  expect(await play(5 * SECOND)).toBe(1 + 20 + 500);
  expect(counts).toEqual([]);
});

test("a batch of a chain is counted in one write", async () => {
  const { client, counts, play } = createLoop((client, { body }) => {
    const jobs = Array.from({ length: body === 2 ? 100 : 1 }, () => ({
      topic: "orders",
      body: Number(body) + 1,
      delay: 0,
    }));
    return body === 3 ? undefined : client.enqueueMany(jobs);
  });
  const { id } = await client.enqueue("orders", 0, { delay: 0 });
  expect(await play(5 * SECOND)).toBe(103);
  expect(counts).toEqual([`chain#${id}#2026-03-01`]);
});

test("a job that nobody's handler files has no chain, and costs no count", async () => {
  const { client, counts, world } = createLoop(() => {});
  for (let i = 0; i < 3; i++) await client.enqueue("orders", 1, { delay: "1h" });
  expect(homesIn(world).map(({ chain }) => chain)).toEqual([undefined, undefined, undefined]);
  expect(counts).toEqual([]);
});

test("a job that a caller replaces leaves its chain, and one that a handler replaces joins the handler's", async () => {
  const { client, play, world } = createLoop((client, { body }) =>
    body === "file" ? client.put("orders", "k", { body: 1, delay: "1h" }) : undefined,
  );
  const { id } = await client.enqueue("orders", "file", { delay: 0 });
  await play(2 * SECOND);
  const chainOfKey = async () =>
    (await world.home((await client.get({ topic: "orders", key: "k" })).id)).chain;
  expect(await chainOfKey()).toBe(`${id}.1`);
  await client.put("orders", "k", { body: 2, delay: "1h" });
  expect(await chainOfKey()).toBeUndefined();
  const second = await client.enqueue("orders", "file", { delay: 0 });
  await play(2 * SECOND);
  expect(await chainOfKey()).toBe(`${second.id}.1`);
});

test("a repeat with an Idempotency-Key gets its job, although its chain is full", async () => {
  const errors: MinutehandError[] = [];
  const { client, play } = createLoop(async (client, { body }) => {
    const step = Number(body);
    const file = (idempotencyKey: string) => client.enqueue("orders", step + 1, { idempotencyKey, delay: 1 });
    if (step < 2) return file(`${step}`);
    if (step > 2) return undefined;
    const { id } = await file("first");
    for (let i = 0; i < MOST; i++) await file(`more ${i}`).catch((error) => errors.push(error));
    return expect(await file("first")).toMatchObject({ id, outcome: "replayed" });
  });
  await client.enqueue("orders", 0, { delay: 0 });
  await play(30 * SECOND);
  expect(errors).toMatchObject([
    { code: "runaway-chain", status: 409, data: { topic: "orders", generation: 3 } },
  ]);
});

test("without a bound, nothing is counted", async () => {
  const { client, play, counts } = createLoop(
    (client) => client.enqueue("orders", 1, { delay: 1 }),
    "direct",
    {
      maxFiledPerChain: 0,
    },
  );
  await client.enqueue("orders", 1, { delay: 0 });
  expect(await play(2 * MOST * SECOND)).toBe(2 * MOST);
  expect(counts).toEqual([]);
});

test.each(["orders", "logs"] as const)(
  "a handler of topic %s that asks for another run without end dies at the bound",
  async (topic) => {
    const { client, play, world } = createLoop((_, job) => job.retryIn(1));
    const { id } = await client.enqueue(topic, 1, { delay: 0 });
    expect(await play(3 * MOST * SECOND)).toBe(MOST + 1);
    const error = `its handler may ask for at most ${MOST} runs on a day (UTC) by retryIn`;
    expect(world.events.findLast(({ type }) => type === "dead")).toMatchObject({ id, error });
    expect(runaways(world)[0]).toMatchObject({ topic, id, jobs: MOST / 2 + 1 });
  },
);

test("a handler that asks for fewer runs on each day goes on for ever", async () => {
  const { client, play } = createLoop((_, job) => job.retryIn(EVERY), "direct", { maxFiledPerChain: 500 });
  await client.enqueue("orders", 1, { delay: 0 });
  expect(await play(2 * DAY, EVERY * SECOND)).toBe(DAYS_RUNS);
});
