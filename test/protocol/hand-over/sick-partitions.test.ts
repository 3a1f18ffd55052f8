import { expect, test } from "vitest";
import { MinutehandError } from "../../../src/core/errors.ts";
import { pauseTopic, resumeTopic } from "../../../src/protocol/change/pause.ts";
import { release } from "../../../src/protocol/hand-over/release.ts";
import { createWorld, MINUTE, SECOND } from "../../support/world.ts";

test("a release remembers a partition that it could not read, also if its step fails afterwards", async () => {
  const world = createWorld({ topics: { slow: { maxPerSecond: 1 } }, shards: 1 });
  await world.tick();
  await pauseTopic(world.ctx, "slow");
  const file = (ahead: number) => world.file({ topic: "slow", dueAt: world.now() + ahead });
  const near = [await file(30 * SECOND), await file(31 * SECOND), await file(32 * SECOND)];
  for (let i = 0; i < 3; i++) await file(100 * SECOND + i);
  await world.pass(2 * MINUTE);
  const pause = await resumeTopic(world.ctx, "slow", undefined);
  const sickPk = near[0]?.pk ?? "";
  let reads = 0;
  let counts = 0;
  world.pool.hooks.before = ({ operation, keys }) => {
    const isSick = operation === "read" && keys.some(({ pk }) => pk === sickPk);
    if (isSick) reads += 1;
    if (isSick || (operation === "count" && ++counts === 1))
      throw new MinutehandError("unavailable", "no answer");
  };
  const sizes = { ...world.ctx.sizes, released: 4, parkedPage: 4, parkedNotes: 4 };
  const sick = new Set<string>();
  const until = world.now() + 50 * SECOND;
  await expect(release({ ...world.ctx, sizes }, "slow", pause, until, sick)).rejects.toThrow("no answer");
  expect(reads).toBeGreaterThan(0);
  expect([...sick]).toEqual([sickPk]);
  reads = 0;
  await expect(release({ ...world.ctx, sizes }, "slow", pause, until, sick)).rejects.toThrow(
    /could not be released/,
  );
  expect(reads).toBe(0);
});
