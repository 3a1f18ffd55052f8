import { expect, test } from "vitest";
import { API_PATIENCE, withDeadlinePerCall } from "../../src/aws/deadlines.ts";
import type { Pool } from "../../src/protocol/ports.ts";
import { createWorld, MINUTE, SECOND } from "../support/world.ts";

test("the writes of each call have a deadline of their own, before API Gateway's timeout", async () => {
  const world = createWorld();
  const deadlines: number[] = [];
  const insert: Pool["insert"] = (items, by) => {
    deadlines.push(by - world.now());
    return world.pool.insert(items, by);
  };
  const base: Pool = Object.assign(Object.create(world.pool), { insert });
  const { pool, begin } = withDeadlinePerCall(base, world.now, API_PATIENCE);
  begin();
  await pool.insert([], world.now() + MINUTE);
  await world.pass(5 * SECOND);
  await pool.insert([], world.now() + MINUTE);
  await pool.insert([], world.now() + SECOND);
  await world.pass(MINUTE);
  begin();
  await pool.insert([], world.now() + MINUTE);
  expect(deadlines).toEqual([20 * SECOND, 15 * SECOND, SECOND, 20 * SECOND]);
});
