import { expect, test } from "vitest";
import { periodOf } from "../../../src/core/limit.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND } from "../../support/world.ts";

// At other seconds of the minute, the limit's periods and the rate's turns could coincide by chance.
test.each([
  [1 / 60, 1 / 60, 20, undefined],
  [1 / 60, 10, 30, undefined],
  [1 / 10, 1 / 60, 17, undefined],
  [1 / 49, 1, 20, "09:30-09:15 UTC"],
])(
  "a limit of %f that is resumed at %f a second at second %i of a minute starts the oldest jobs first (window: %s)",
  async (maxPerSecond, rate, second, window) => {
    const world = createWorld({
      topics: { t: { maxPerSecond, ...(window === undefined ? {} : { window }) } },
      shards: 1,
    });
    await world.tick();
    await pauseTopic(world.ctx, "t");
    const old = new Set<string>();
    for (let i = 0; i < 10; i++) old.add((await world.file({ topic: "t", delay: MINUTE })).id);
    await world.pass(10 * MINUTE + second * SECOND);
    await resume(world.ctx, "t", rate);
    // These are a few more jobs than the topic may start.
    for (let i = 0; i < HOUR / SECOND; i += 0.9 / maxPerSecond)
      await world.file({ topic: "t", delay: 20 * SECOND + i * SECOND });
    const runs = { old: 0, newer: 0 };
    for (const end = world.now() + HOUR; world.now() < end; ) {
      await world.pass(5 * SECOND);
      for (const { id } of await consume(world, "t")) runs[old.has(id) ? "old" : "newer"]++;
    }
    expect(runs.old).toBe(10);
    expect(runs.newer).toBeGreaterThan(0);
  },
);

test.each([false, true])(
  "a resume that is repeated after its rate has ended delays no job (again: %s)",
  async (again) => {
    const world = createWorld({ topics: { t: {} }, shards: 1 });
    await world.tick();
    await pauseTopic(world.ctx, "t");
    for (let i = 0; i < 3; i++) await world.file({ topic: "t", delay: MINUTE });
    await world.pass(5 * MINUTE);
    expect(await resume(world.ctx, "t", 0.01)).toEqual({ released: 1, left: 2 });
    for (let i = 0; i < 9 * 60; i++) {
      await world.pass(SECOND);
      await consume(world, "t");
    }
    // Consumers come four minutes late to newer jobs. The rate ends meanwhile.
    const newer = new Set<string>();
    for (let i = 0; i < 60; i++) newer.add((await world.file({ topic: "t", delay: 5 * SECOND })).id);
    await world.pass(4 * MINUTE);
    if (again) expect(await resume(world.ctx, "t", 0.01)).toEqual({ released: 0, left: 0 });
    const started = new Set<string>();
    for (let i = 0; i < 60; i++) {
      for (const { id } of await consume(world, "t")) started.add(id);
      await world.pass(SECOND);
    }
    expect([...newer].filter((id) => !started.has(id))).toEqual([]);
  },
);

test.each([
  [1 / 2, 0.45],
  [1 / 10, 0.09],
  [1 / 60, 1 / 61],
])(
  "a topic with a limit of %f that is resumed at a slightly lower rate, %f a second, starts jobs at that rate in whole seconds",
  async (limit, asked) => {
    const period = periodOf(asked);
    const rate = (period.starts * SECOND) / period.ms;
    const world = createWorld({ topics: { t: { maxPerSecond: limit } }, shards: 1 });
    await world.tick();
    await pauseTopic(world.ctx, "t");
    const count = Math.ceil(1.2 * rate * (HOUR / SECOND));
    for (let i = 0; i < count; i++) await world.file({ topic: "t", delay: MINUTE });
    await world.pass(10 * MINUTE);
    await resume(world.ctx, "t", asked);
    let runs = 0;
    for (const end = world.now() + HOUR; world.now() < end; ) {
      await world.pass(SECOND);
      runs += (await consume(world, "t")).length;
    }
    expect(runs / (rate * (HOUR / SECOND))).toBeGreaterThan(0.95);
    expect(runs).toBeLessThanOrEqual(rate * (HOUR / SECOND) + 2);
  },
);
