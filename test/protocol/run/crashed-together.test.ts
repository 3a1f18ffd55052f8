import { describe, expect, test } from "vitest";
import { crashSpread } from "../../../src/core/backoff.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND } from "../../support/world.ts";

describe("jobs of one message whose process is killed", () => {
  test.each([
    [[15], 7.5],
    [[600], 60],
  ])(
    "do not come together again, and none comes later than its backoff allows (backoff %j s)",
    async (waits, spread) => {
      const world = createWorld({ shards: 1, topics: { orders: { backoff: { waits }, maxAttempts: 2 } } });
      await world.tick();
      const dueAt = world.now() + 10 * MINUTE;
      await enqueueMany(
        world.ctx,
        Array.from({ length: 10 }, () => ({ topic: "orders", body: "{}", dueAt })),
      );
      await world.pass(10 * MINUTE);
      await crashWhileRunning(world, "orders");
      await world.pass(2 * MINUTE);
      // All ten runs are found to have crashed.
      expect(await consume(world, "orders")).toEqual([]);
      const from = world.now();
      const at = new Set<number>();
      for (let i = 0; i < HOUR / SECOND; i++) {
        for (const run of await consume(world, "orders")) at.add(Math.floor((run.at - from) / SECOND));
        await world.pass(SECOND);
      }
      const [wait = 0] = waits;
      expect(at.size).toBeGreaterThan(4);
      expect(Math.min(...at)).toBeGreaterThanOrEqual(wait);
      expect(Math.max(...at)).toBeLessThanOrEqual(wait + spread + 1);
    },
  );

  test("wait at least 5 s, and at most half as long again or a minute more", () => {
    expect([0, 1, 15, 60, 180, 54_000].map((wait) => crashSpread(wait * SECOND) / SECOND)).toEqual([
      5, 5, 7.5, 30, 60, 60,
    ]);
  });
});
