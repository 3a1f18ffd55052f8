import { expect, test } from "vitest";
import { enqueue } from "../../../src/protocol/file/enqueue.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { createWorld, SECOND, type World } from "../../support/world.ts";

/** Another process, with its own memory of the topic. */
const processOf = ({ ctx, pool }: World): Context => ({ ...ctx, pool: Object.create(pool) });

/** A topic whose parked jobs the tick in two seconds releases, all of them. The process `api` has read that jobs wait. */
async function lastReleaseAhead(): Promise<{ world: World; api: Context }> {
  const world = createWorld({ topics: { t: { maxPerSecond: 1 } } });
  const api = processOf(world);
  await world.tick();
  for (let i = 0; i < 160; i++) await world.file({ topic: "t" });
  await world.pass(118 * SECOND);
  await enqueue(api, { topic: "t", body: "{}", dueAt: world.now() });
  return { world, api };
}

test("a job that is filed just after the last release of its topic is sent at once", async () => {
  const { world, api } = await lastReleaseAhead();
  await world.pass(4 * SECOND);
  const dueAt = world.now() + 50 * SECOND;
  const { home } = await enqueue(api, { topic: "t", body: "{}", dueAt });
  expect(world.queues.messages({ topic: "t" }).at(-1)).toMatchObject({
    body: expect.stringContaining(home.id),
    visibleAt: dueAt,
  });
});
