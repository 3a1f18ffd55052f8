import { expect, test } from "vitest";
import { createWorld, HOUR } from "../protocol/world.ts";
import { busEvent, deliver, paid } from "./bus.ts";

test("an event cancels the job of its key", async () => {
  const world = createWorld();
  const { id } = await world.file({ key: "order-1", delay: HOUR });
  expect(await deliver(world, [paid], [busEvent(world.now())])).toEqual([]);
  expect(await world.home(id)).toMatchObject({ state: "cancelled" });
});
