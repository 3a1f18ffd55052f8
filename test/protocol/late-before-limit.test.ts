import { expect, test } from "vitest";
import { consume } from "./consume.ts";
import { createWorld, HOUR, SECOND, type World } from "./world.ts";

/** The states of three jobs, due ten seconds apart in a topic that starts one a second. */
async function statesAfter(trouble: (world: World) => Promise<void>): Promise<string[]> {
  const world = createWorld({
    topics: { t: { maxPerSecond: 1, ifLate: { after: 60, do: "skip" } } },
    shards: 1,
  });
  await world.tick();
  await world.pass(20 * SECOND);
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await world.file({ topic: "t", delay: (300 + i * 10) * SECOND })).id);
  await trouble(world);
  for (let i = 0; i < 1800; i++) {
    await world.pass(SECOND);
    await consume(world, "t");
  }
  return Promise.all(ids.map(async (id) => (await world.home(id)).state));
}

test.each<[string, (world: World) => Promise<void>]>([
  ["no tick has come", (world) => world.pass(2 * HOUR, { ticks: false })],
  [
    "its queue took nothing",
    async (world) => {
      world.queues.trouble({ topic: "t" }, "failing");
      await world.pass(HOUR);
      world.queues.trouble({ topic: "t" }, undefined);
    },
  ],
  ["nobody consumed, and the audit sent it again", (world) => world.pass(1080 * SECOND)],
])("a job of a limited topic is as late as it was before its start, when %s", async (_, trouble) => {
  expect(await statesAfter(trouble)).toEqual(["cancelled", "cancelled", "cancelled"]);
});
