import { expect, test } from "vitest";
import { pauseTopic } from "../../../protocol/change/pause.ts";
import { resume } from "../../../protocol/hand-over/release.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, START } from "../../support/world.ts";

// It is 09:00.
const window = "11:00-18:00 UTC";
const OPENS = START + 2 * HOUR;

test.each([
  ["full", 10 * MINUTE, false],
  ["full", 10 * MINUTE, true],
  ["full", MINUTE, false],
  ["none", 10 * MINUTE, false],
  ["none", 10 * MINUTE, true],
  // The job is due so soon that its writer itself holds it.
  ["none", MINUTE, false],
] as const)(
  "a limit that a deployment adds applies to jobs that wait for their window: tracking %s, delay %s ms, paused before: %s",
  async (tracking, delay, isPaused) => {
    const world = createWorld({ topics: { t: { window, tracking } }, shards: 2 });
    await world.tick();
    for (let i = 0; i < 300; i++) await world.file({ topic: "t", delay });
    if (isPaused) await pauseTopic(world.ctx, "t");
    await world.pass(25 * MINUTE);
    if (isPaused) await resume(world.ctx, "t", undefined);
    await world.pass(5 * MINUTE);
    const topics = { t: { ...world.ctx.policy.topics.t, window, tracking, maxPerSecond: 2 } };
    Object.assign(world.ctx, { policy: { ...world.ctx.policy, topics } });
    await world.pass(OPENS - world.now());
    const starts = new Map<number, number>();
    for (let i = 0; i < 200; i++, await world.pass(SECOND))
      for (let runs = await consume(world, "t"); runs.length > 0; runs = await consume(world, "t"))
        for (const { at } of runs) {
          const second = Math.floor(at / SECOND);
          starts.set(second, (starts.get(second) ?? 0) + 1);
        }
    expect(Math.max(...starts.values())).toBe(2);
    expect([...starts.values()].reduce((sum, some) => sum + some)).toBe(300);
  },
);
