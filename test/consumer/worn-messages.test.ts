import { expect, test } from "vitest";
import { consume } from "../support/consume.ts";
import { createWorld, MINUTE, SECOND, type World } from "../support/world.ts";

/** Consumes each message as soon as it is visible, as Lambda's pollers do. Answers when each job first ran, ms since the epoch. */
async function consumeFor(world: World, ms: number): Promise<Map<string, number>> {
  const ran = new Map<string, number>();
  for (const end = world.now() + ms; world.now() < end; ) {
    await world.pass(SECOND);
    if (world.visible("orders").length === 0) continue;
    for (const { id, at } of await consume(world, "orders", { timeout: 60_000 }))
      if (!ran.has(id)) ran.set(id, at);
  }
  return ran;
}

test.each([
  ["writes of the jobs' bucket are", (pk: string) => pk.startsWith("2026-"), ["change", "changeMany"]],
  ["the pause of their topic is", (pk: string) => pk === "pause#orders", ["read"]],
] as const)(
  "when %s throttled until messages would go to the DLQ, jobs run soon afterwards, and no message is in the DLQ",
  async (_, isIts, operations) => {
    const world = createWorld({ shards: 1, topics: { orders: {}, other: {} } });
    await world.tick();
    const jobs = [];
    for (let i = 0; i < 5; i++) jobs.push(await world.file({ delay: MINUTE }));
    const begin = world.now() + 50 * SECOND;
    const end = begin + 16 * MINUTE;
    world.pool.hooks.before = ({ operation, keys }) => {
      const isAsked =
        (operations as readonly string[]).includes(operation) && keys.some(({ pk }) => isIts(pk));
      if (isAsked && world.now() >= begin && world.now() < end) throw new Error("throttled");
    };
    const ran = await consumeFor(world, 40 * MINUTE);
    expect(world.queues.messages({ topic: "orders", dead: true })).toEqual([]);
    const late = jobs.map(({ id }) => ((ran.get(id) ?? Number.POSITIVE_INFINITY) - end) / MINUTE);
    expect(Math.max(...late)).toBeLessThan(2);
  },
);

test("if the audit finds a job with a lost message but cannot read its topic's pause, it soon looks at the job again", async () => {
  const world = createWorld({ shards: 1, topics: { orders: {}, other: {} } });
  await world.tick();
  const job = await world.file({ delay: 10 });
  world.queues.purge({ topic: "orders" });
  const begin = world.now() + 9.5 * MINUTE;
  world.pool.hooks.before = ({ keys }) => {
    const isAsked = keys.some(({ pk }) => pk === "pause#orders");
    if (isAsked && world.now() >= begin && world.now() < begin + 4 * MINUTE) throw new Error("throttled");
  };
  const ran = await consumeFor(world, 40 * MINUTE);
  expect(((ran.get(job.id) ?? Number.POSITIVE_INFINITY) - job.dueAt) / MINUTE).toBeLessThan(30);
});
