import { expect, test } from "vitest";
import { MinutehandError } from "../../../src/core/errors.ts";
import { LIMITED_TOPICS } from "../../../src/core/item-keys.ts";
import { parkForLimit } from "../../../src/protocol/gate/park.ts";
import type { Context, Pool } from "../../../src/protocol/ports.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

/** Writes of the list of limited topics get no answer. They are tried until their deadline. */
function withSilentList(world: World): Context {
  const insert: Pool["insert"] = async (items, by) => {
    if (items[0]?.pk !== LIMITED_TOPICS) return world.pool.insert(items, by);
    await world.pass(Math.max(by - world.now(), 0), { ticks: false });
    throw new MinutehandError("unavailable", "no answer");
  };
  return { ...world.ctx, pool: Object.assign(Object.create(world.pool), { insert }) };
}

test("a list of limited topics that gives no answer keeps jobs waiting for ten seconds once, not for each page", async () => {
  const world = createWorld({ topics: { slow: { maxPerSecond: 1 }, mail: { maxPerSecond: 1 } } });
  const ctx = withSilentList(world);
  const begun = world.now();
  for (const topic of ["slow", "slow", "mail", "slow"]) {
    const home = await world.file({ topic, delay: 10 * MINUTE });
    await expect(parkForLimit(ctx, topic, [home], world.now() + MINUTE)).rejects.toThrow("no answer");
  }
  expect(world.now() - begun).toBeLessThanOrEqual(10 * SECOND);
  await world.pass(MINUTE, { ticks: false });
  const home = await world.file({ topic: "slow", delay: 10 * MINUTE });
  await parkForLimit(
    { ...ctx, pool: Object.assign(ctx.pool, { insert: world.pool.insert }) },
    "slow",
    [home],
    world.now() + MINUTE,
  );
  expect(world.pool.items().filter(({ pk }) => pk === LIMITED_TOPICS)).toHaveLength(1);
});
