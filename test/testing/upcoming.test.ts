import { expect, test } from "vitest";
import { cancel } from "../../src/protocol/change/cancel.ts";
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

test("a job's minute is swept once, and audited ten minutes later", async () => {
  const world = createWorld({ shards: 1 });
  await world.file({ delay: 30 * MINUTE });
  await world.pass(28 * MINUTE);
  expect(world.visible("orders")).toEqual([]);
  expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
  expect(await nextTick(world.ctx, world.pool, world.now())).toEqual({ time: world.now() + 10 * MINUTE });
  await world.pass(10 * MINUTE);
  // The job has not run, so the audit has filed a look.
  const next = await nextTick(world.ctx, world.pool, world.now());
  expect(next?.time).toBeGreaterThan(world.now() + 2 * MINUTE);
});

test("no tick has work once all minutes with entries are swept and audited", async () => {
  const world = createWorld({ shards: 1 });
  const { id } = await world.file({ delay: 30 * MINUTE });
  await cancel(world.ctx, id);
  await world.pass(28 * MINUTE);
  expect(await nextTick(world.ctx, world.pool, world.now())).toEqual({ time: world.now() + 10 * MINUTE });
  await world.pass(11 * MINUTE);
  expect(await nextTick(world.ctx, world.pool, world.now())).toBeUndefined();
});
