import { describe, expect, test } from "vitest";
import { LONGEST_HIDE, LONGEST_UNTRACKED_WAIT } from "../../../src/core/constants.ts";
import type { Ending } from "../../../src/protocol/run/settle.ts";
import { extend, settlePulled } from "../../../src/protocol/run/settle-pulled.ts";
import { consume, type Run } from "../../support/consume.ts";
import { pull, pullOne } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, type World } from "../../support/world.ts";

const DAY = 24 * HOUR;

function untracked(): World {
  const backoff = { waits: [30 * 86_400] };
  return createWorld({
    topics: {
      loose: { tracking: "none", backoff },
      pulled: { consumer: "pull", tracking: "none" },
    },
  });
}

/** All runs within `days` of a job whose first run ends with `first`. */
async function runsOf(world: World, days: number, first: Ending): Promise<Run[]> {
  const runs: Run[] = [];
  for (const end = world.now() + days * DAY; world.now() < end; ) {
    const isFirst = runs.length === 0;
    runs.push(...(await consume(world, "loose", { run: () => (isFirst ? first : { end: "done" }) })));
    await world.pass(10 * MINUTE, { ticks: false });
  }
  return runs;
}

describe("an untracked job", () => {
  test("is stored for ten days past its time and no longer, because nothing deletes it after it is sent", async () => {
    const world = untracked();
    const { id, dueAt, expiresAt = 0 } = await world.file({ topic: "loose", delay: DAY });
    expect(expiresAt).toBe((dueAt + 10 * DAY) / 1000);
    // After an outage of ten days from the filing it still runs.
    await world.pass(10 * DAY, { ticks: false });
    await world.tick();
    expect(await consume(world, "loose")).toMatchObject([{ id }]);
  });

  test.each([
    ["whose handler asks for the longest wait", { end: "retry-in", wait: LONGEST_UNTRACKED_WAIT }],
    ["whose backoff is longer than SQS keeps a message", { end: "failed", error: "no" }],
  ] as const)("%s runs again", async (_, first) => {
    const world = untracked();
    const start = world.now();
    await world.file({ topic: "loose" });
    const runs = await runsOf(world, 12, first);
    expect(runs).toHaveLength(2);
    expect(runs[1]?.at).toBeGreaterThanOrEqual(start + LONGEST_UNTRACKED_WAIT);
    expect(runs[1]?.at).toBeLessThan(start + LONGEST_UNTRACKED_WAIT + HOUR);
  });

  test("whose failed run says a time before which it must not run again waits until then", async () => {
    const world = createWorld({ topics: { loose: { tracking: "none", backoff: { waits: [15] } } } });
    await world.file({ topic: "loose" });
    const start = world.now();
    const runs = await runsOf(world, 1, { end: "failed", error: "no", notBefore: 2 * HOUR });
    expect(runs).toHaveLength(2);
    expect(runs[1]?.at).toBeGreaterThanOrEqual(start + 2 * HOUR);
  });

  test("that is pulled cannot be retried later than SQS can hide its message", async () => {
    const world = untracked();
    await world.file({ topic: "pulled" });
    const { receipt } = await pullOne(world, "pulled");
    const retry = (retryAfter: number) =>
      settlePulled(world.ctx, "pulled", receipt, { end: "failed", error: "", retryAfter });
    await expect(retry(LONGEST_HIDE + 1)).rejects.toMatchObject({
      code: "bad-request",
      message: expect.stringContaining("at most 42900 s"),
    });
    await retry(LONGEST_HIDE);
    await world.pass(LONGEST_HIDE, { ticks: false });
    await pullOne(world, "pulled");
  });

  describe("that is pulled and has run for three hours", () => {
    async function afterThreeHours(topic: string): Promise<{ world: World; receipt: string; until: number }> {
      const world = untracked();
      await world.file({ topic });
      const { receipt } = await pullOne(world, topic);
      const until = world.now() + 12 * HOUR;
      await extend(world.ctx, topic, receipt, 4 * HOUR);
      await world.pass(3 * HOUR, { ticks: false });
      return { world, receipt, until };
    }
    async function backAt(world: World, topic: string): Promise<number> {
      while ((await pull(world, topic)).length === 0) await world.pass(MINUTE, { ticks: false });
      return world.now();
    }

    test("cannot be retried 12 hours after its receive or later, but can be retried sooner", async () => {
      const { world, receipt } = await afterThreeHours("pulled");
      const retry = (retryAfter: number) =>
        settlePulled(world.ctx, "pulled", receipt, { end: "failed", error: "", retryAfter });
      await expect(retry(9 * HOUR)).rejects.toMatchObject({ code: "bad-request" });
      const asked = world.now();
      await retry(8 * HOUR);
      expect(await backAt(world, "pulled")).toBe(asked + 8 * HOUR);
    });

    test("is handed to no other puller before its prolonged lease ends", async () => {
      const { world, receipt, until } = await afterThreeHours("pulled");
      const { leaseUntil } = await extend(world.ctx, "pulled", receipt, 12 * HOUR);
      expect(leaseUntil).toBeGreaterThan(until - 2 * MINUTE);
      expect(await backAt(world, "pulled")).toBeGreaterThanOrEqual(leaseUntil);
      await expect(extend(world.ctx, "pulled", receipt, HOUR)).rejects.toMatchObject({ code: "claim-lost" });
    });
  });
});
