import { expect, it } from "vitest";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { createWorld, HOUR, MINUTE } from "../../support/world.ts";

it("a cancel whose write lands late does not cancel a job that was moved since", async () => {
  const world = createWorld();
  const { id } = await world.file({ delay: HOUR });
  const late: Parameters<Context["pool"]["change"]>[] = [];
  const change: Context["pool"]["change"] = async (...args) => {
    late.push(args);
    throw new Error("no answer");
  };
  await expect(cancel({ ...world.ctx, pool: { ...world.pool, change } }, id)).rejects.toThrow("no answer");
  await reschedule(world.ctx, id, { dueAt: world.now() + 2 * HOUR });
  const [[write] = []] = late;
  if (!write) throw new Error("the cancel wrote nothing");
  expect(await world.pool.change(write, world.now() + MINUTE)).toMatchObject({ changed: false });
  expect(await world.home(id)).toMatchObject({ state: "scheduled", revision: 1 });
});
