import { describe, expect, test } from "vitest";
import { LONGEST_HIDE, LONGEST_UNTRACKED_WAIT } from "../../core/constants.ts";
import { settlePulled } from "../../protocol/pull.ts";
import type { Ending } from "../../protocol/settle.ts";
import { consume, type Run } from "./consume.ts";
import { pullOne } from "./scenes.ts";
import { createWorld, HOUR, MINUTE, type World } from "./world.ts";

const DAY = 24 * HOUR;

function untracked(): World {
  const backoff = { waits: [30 * 86_400] };
  return createWorld({
    topics: { loose: { tracking: "none", backoff }, pulled: { consumer: "pull", tracking: "none" } },
  });
}

/** The runs of `days`, of which the first ends so. */
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

  test("that is pulled is refused a retry later than SQS can hide its message", async () => {
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
});
