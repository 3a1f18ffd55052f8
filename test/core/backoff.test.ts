import { describe, expect, it } from "vitest";
import { backoffMs, DEFAULT_BACKOFF } from "../../src/core/backoff.ts";
import { attemptsOf } from "../../src/settings/policy.ts";

describe("backoff", () => {
  it("climbs the ladder and repeats its last wait", () => {
    const waits = [1, 2, 3, 9, 10, 50].map((attempt) => backoffMs(DEFAULT_BACKOFF, attempt, 0) / 1000);
    expect(waits).toEqual([15, 180, 600, 54_000, 54_000, 54_000]);
    expect(attemptsOf(DEFAULT_BACKOFF)).toBe(10);
  });

  it("grows by its factor to its cap, less the jitter drawn", () => {
    const backoff = { initial: 2, factor: 3, max: 60, jitter: 0.5 };
    expect([1, 2, 3, 4, 99].map((attempt) => backoffMs(backoff, attempt, 0))).toEqual([
      2000, 6000, 18_000, 54_000, 60_000,
    ]);
    expect(backoffMs(backoff, 99, 0.999)).toBeGreaterThanOrEqual(30_000);
  });
});
