import { expect, test } from "vitest";
import { pauseTopic } from "../../src/protocol/change/pause.ts";
import { enqueueMany } from "../../src/protocol/file/enqueue.ts";
import { resume } from "../../src/protocol/hand-over/release.ts";
import { consume } from "../support/consume.ts";
import { createWorld, MINUTE, SECOND, type World } from "../support/world.ts";

const IF_LATE = { ifLate: { after: 60, do: "skip" } } as const;

/** The next send to topic `t` takes `takes` ms and fails. */
function failOnce(world: World, takes: number): void {
  const { send } = world.queues;
  world.queues.send = async (queue, messages) => {
    if (!("topic" in queue) || queue.topic !== "t") return send(queue, messages);
    world.queues.send = send;
    await world.pass(takes, { ticks: false });
    return messages.map(() => ({ outcome: "unreachable", reason: "no answer" }));
  };
}

async function file(world: World, count: number): Promise<void> {
  for (let i = 0; i < count; i += 500)
    await enqueueMany(
      world.ctx,
      Array.from({ length: Math.min(500, count - i) }, () => ({
        topic: "t",
        body: "{}",
        dueAt: world.now(),
      })),
    );
}

async function skippedAfter(world: World, ms: number): Promise<number> {
  for (const end = world.now() + ms; world.now() < end; ) {
    await world.pass(SECOND);
    while ((await consume(world, "t")).length > 0);
  }
  return world.pool.items().filter((item) => "state" in item && item.state === "cancelled").length;
}

/** The jobs in the current step of each lane of a release may lose their starts. */
const IN_HAND = 2 * 16;

test.each([0, 15 * SECOND])(
  "a release gives no more starts to a queue after a send has failed, because they would be lost (after %i ms)",
  async (takes) => {
    const world = createWorld({ shards: 1, topics: { t: { maxPerSecond: 10, ...IF_LATE } } });
    await world.tick();
    await file(world, 3000);
    await skippedAfter(world, 2 * MINUTE);
    failOnce(world, takes);
    expect(await skippedAfter(world, 6 * MINUTE)).toBeLessThanOrEqual(IN_HAND);
  },
);

test("a resume gives no more starts to a queue after a send has failed, and the next tick continues", async () => {
  const world = createWorld({ shards: 1, topics: { t: IF_LATE } });
  await world.tick();
  await pauseTopic(world.ctx, "t");
  await file(world, 1000);
  await world.pass(5 * MINUTE);
  failOnce(world, 0);
  const { left } = await resume(world.ctx, "t", undefined);
  expect(left).toBeGreaterThan(900);
  expect(await skippedAfter(world, 5 * MINUTE)).toBeLessThanOrEqual(IN_HAND);
  const done = world.pool.items().filter((item) => "state" in item && item.state === "done");
  expect(done.length).toBeGreaterThanOrEqual(1000 - IN_HAND);
});
