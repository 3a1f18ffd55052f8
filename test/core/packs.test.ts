import { describe, expect, it } from "vitest";
import { PACK_BYTES } from "../../src/core/constants.ts";
import { delaySecondsOf, packsOf } from "../../src/core/packs.ts";
import { topicPolicy } from "../../src/settings/policy.ts";
import { TIME, waitingHome } from "./waiting-home.ts";

describe("packs", () => {
  const policy = topicPolicy({ pack: 3 });

  it("hold jobs of one second and one group, up to the topic's number", () => {
    const homes = [0, 10, 20, 700, 749, 750, 1100].map((ms, i) =>
      waitingHome({ dueAt: TIME + ms, ...(i === 1 ? { group: "a" } : {}) }),
    );
    const packs = packsOf("t", policy, homes, TIME).map(({ homes: mates, group, start: dueAt }) => [
      mates.length,
      group,
      dueAt - TIME,
    ]);
    expect(packs).toEqual([
      [3, undefined, 0],
      [1, "a", 10],
      [1, undefined, 749],
      [2, undefined, 750],
    ]);
  });

  it("hold at most 60 KB, and a larger job alone", () => {
    const body = JSON.stringify("x".repeat(PACK_BYTES / 2));
    expect(packsOf("t", policy, [waitingHome({ body }), waitingHome({ body })], TIME)).toHaveLength(2);
    const large = JSON.stringify("x".repeat(PACK_BYTES * 2));
    expect(
      packsOf("t", policy, [waitingHome({ body: large }), waitingHome()], TIME).map(
        ({ homes }) => homes.length,
      ),
    ).toEqual([1, 1]);
  });

  it("a delay is rounded up, never early and at most 900 s", () => {
    for (const [left, delay] of [
      [-5, 0],
      [0, 0],
      [1, 1],
      [1000, 1],
      [1001, 2],
      [2_000_000, 900],
    ] as const) {
      expect(delaySecondsOf(TIME + left, TIME, "second")).toBe(delay);
    }
  });

  it("millisecond topics' messages come 0.2 to 1.2 s before they are due", () => {
    for (let left = 1200; left < 5000; left += 7) {
      const early = left - delaySecondsOf(TIME + left, TIME, "millisecond") * 1000;
      expect(early).toBeGreaterThanOrEqual(200);
      expect(early).toBeLessThan(1200);
    }
  });
});
