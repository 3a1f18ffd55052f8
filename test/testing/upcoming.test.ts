import { expect, test } from "vitest";
import { nextTick } from "../../src/testing/upcoming.ts";
import { createWorld, HOUR, MINUTE } from "../support/world.ts";

const DAY = 24 * HOUR;

test("the next tick is the one that sweeps the next job's minute, however far it is", async () => {
  const world = createWorld({ shards: 1 });
  await world.tick();
  expect(await nextTick(world.ctx, world.pool, world.now())).toBeUndefined();
  const { dueAt } = await world.file({ delay: 7 * DAY + 1 });
  expect(await nextTick(world.ctx, world.pool, world.now())).toEqual({ time: dueAt - 1 - 2 * MINUTE });
});

test("a job's minute is swept once", async () => {
  const world = createWorld({ shards: 1 });
  await world.file({ delay: 30 * MINUTE });
  await world.pass(28 * MINUTE);
  expect(world.visible("orders")).toEqual([]);
  expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
  expect(await nextTick(world.ctx, world.pool, world.now())).toBeUndefined();
});
