import { expect, test } from "vitest";
import { DAY } from "../../../src/core/constants.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, MINUTE } from "../../support/world.ts";

test("a pause of a year loses nothing and costs few looks", async () => {
  const world = createWorld({ shards: 1 });
  await pauseTopic(world.ctx, "orders");
  const { id } = await world.file({ delay: 0 });
  for (let day = 0; day < 366; day += 6) {
    await world.pass(6 * DAY, { ticks: false });
    // This stands for the ticks of six days.
    await world.tick();
    await world.pass(11 * MINUTE, { ticks: false });
    await world.tick();
  }
  const looks = world.pool.items().filter(({ pk, sk }) => sk.endsWith("#look") && !pk.startsWith("paused"));
  expect(looks.length).toBeLessThan(30);
  expect(await resume(world.ctx, "orders", undefined)).toEqual({ released: 1, left: 0 });
  expect(await consume(world, "orders")).toMatchObject([{ id }]);
});
