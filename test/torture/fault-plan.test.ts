import { describe, expect, it } from "vitest";
import {
  FAMILIES,
  type Family,
  longestFreeze,
  planFaults,
  planTicks,
} from "../../tools/torture/fault-plan.ts";
import { seededRandom } from "../../tools/torture/random.ts";

const FIVE_MINUTES = 300_000;
const ALL = new Set(FAMILIES);

describe("the plan of faults", () => {
  it("is the same for the same seed, and another for another", () => {
    const plan = (seed: number) => planFaults(seededRandom(seed), FIVE_MINUTES, ALL);
    expect(plan(1)).toEqual(plan(1));
    expect(plan(1)).not.toEqual(plan(2));
  });

  it("has every kind of kill, freeze and network trouble, in a short run too", () => {
    const kinds = (ms: number) =>
      new Set(
        planFaults(seededRandom(3), ms, ALL).map((fault) =>
          "victim" in fault ? `${fault.fault} ${fault.victim}` : `${fault.fault} ${fault.service}`,
        ),
      );
    expect(kinds(90_000)).toEqual(kinds(FIVE_MINUTES));
    expect([...kinds(90_000)]).toEqual(
      expect.arrayContaining(["kill stack", "kill sqs", "freeze dynamodb", "cut api"]),
    );
  });

  it("has all faults in order and within the run, and no freeze longer than a minute", () => {
    const plan = planFaults(seededRandom(4), FIVE_MINUTES, ALL);
    const times = plan.map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.every((at) => at >= 0 && at < FIVE_MINUTES)).toBe(true);
    const freezes = plan.filter(({ fault }) => fault === "freeze").map(({ ms }) => ms);
    expect(Math.max(...freezes)).toBeLessThanOrEqual(60_000);
    expect(longestFreeze(90_000)).toBe(18_000);
  });

  it("has only the requested families of faults", () => {
    const faults = planFaults(seededRandom(5), FIVE_MINUTES, new Set<Family>(["network"]));
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.every((fault) => "service" in fault)).toBe(true);
    expect(planFaults(seededRandom(5), FIVE_MINUTES, new Set())).toEqual([]);
  });

  it("doubles one of three successive ticks, and leaves one out", () => {
    const ticks = planTicks(seededRandom(6), FIVE_MINUTES, ALL);
    for (let i = 0; i < 5; i++) {
      const times = [ticks.next(), ticks.next(), ticks.next()].map(({ value }) => value.times);
      expect(times.sort()).toEqual([0, 1, 2]);
    }
  });

  it("doubles and leaves out no tick without the family `ticks`", () => {
    const ticks = planTicks(seededRandom(6), FIVE_MINUTES, new Set());
    for (let i = 0; i < 5; i++) expect(ticks.next().value).toEqual({ times: 1 });
  });
});
