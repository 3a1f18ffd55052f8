import { expect, it } from "vitest";
import { DAY } from "../../../core/constants.ts";
import { cancel } from "../../../protocol/change/cancel.ts";
import { fileOccurrence } from "../../../protocol/file/recurring.ts";
import { createWorld, MINUTE } from "../../support/world.ts";

it("an untracked job that a window held stays cancelled when its occurrence is delivered again from the DLQ", async () => {
  const world = createWorld({
    topics: { events: { consumer: "pull", tracking: "none", window: "20:00-21:00 UTC" } },
  });
  const stored = () => world.pool.items().find((item) => "state" in item) as { id: string } | undefined;
  const occurrence = { name: "s", time: world.now(), job: { topic: "events", body: "1" } };
  // The pool applies the job's own write, and is unreachable after that.
  world.pool.hooks.after = () => {
    if (stored()) throw new Error("out of reach");
  };
  for (let tries = 0; tries < 3; tries++) {
    await expect(fileOccurrence(world.ctx, occurrence)).rejects.toThrow("out of reach");
    await world.pass(MINUTE, { ticks: false });
  }
  delete world.pool.hooks.after;
  expect(await cancel(world.ctx, stored()?.id ?? "")).toMatchObject({ state: "cancelled" });

  await world.pass(8 * DAY, { ticks: false });
  const over = world.pool
    .items()
    .filter((item) => "expiresAt" in item && Number(item.expiresAt) * 1000 <= world.now());
  await world.ctx.pool.remove(over, world.now() + MINUTE);
  await fileOccurrence(world.ctx, occurrence).catch(() => {});
  await world.pass(DAY);
  expect(world.queues.messages({ topic: "events" })).toEqual([]);
});
