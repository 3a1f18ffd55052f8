import { expect, it } from "vitest";
import { deploys } from "../deploys.ts";
import { drawsOf } from "../draws.ts";
import { lambdaOf } from "../lambda.ts";
import { timelineFrom } from "../timeline.ts";
import { TOPICS } from "../topics.ts";
import type { World } from "../world.ts";

const HOUR = 3_600_000;

it("a function that was deployed runs by the new policy from its next invocation on", async () => {
  let started = 0;
  const machine = { alive: () => true, onDeath: () => {}, kill: () => {}, chain: 0 };
  const world = {
    policy: { topics: {} },
    lambda: { isThrottled: () => false, ended: () => {} },
    timeline: { now: () => 0, at: () => {} },
    start: () => ({ machine, ctx: { number: ++started } }),
  } as unknown as World;
  const lambda = lambdaOf<string, number>(world, "any", 1000, (ctx) => async () => {
    return (ctx as unknown as { number: number }).number;
  });
  expect(await lambda("a")).toEqual({ returned: 1 });
  expect(await lambda("b")).toEqual({ returned: 1 });
  world.policy = { ...world.policy };
  expect(await lambda("c")).toEqual({ returned: 2 });
});

it("settings change while jobs wait, a topic is removed now and then, and in the end all topics exist", async () => {
  const changed = new Set<string>();
  for (let seed = 1; seed <= 100; seed++) {
    const timeline = timelineFrom(0);
    const world = {
      ...{ seed, timeline, plan: { weather: "hurt" }, habit: { kind: "none" }, policy: { topics: TOPICS } },
      ...{ stretch: { span: HOUR }, busy: 0, isLeftOut: () => false },
      draws: (name: string) => drawsOf(seed, name),
      trace: (line: () => string) =>
        changed.add(/undefined|maxAttempts|waits|maxPerSecond/.exec(line())?.[0] ?? ""),
      poke: () => {},
    } as unknown as World;
    deploys(world);
    await timeline.run(2 * HOUR, () => false);
    expect(world.busy).toBe(0);
    expect(Object.keys(world.policy.topics).sort()).toEqual(Object.keys(TOPICS).sort());
  }
  expect(changed).toContain("undefined");
  expect(changed.size).toBeGreaterThan(2);
});
