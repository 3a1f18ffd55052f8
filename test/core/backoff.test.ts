import { describe, expect, it } from "vitest";
import { backoffMs, DEFAULT_BACKOFF, exponentialBackoff } from "../../src/core/backoff.ts";
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

  it("is exponential with defaults, and its longest wait is no shorter than its first", () => {
    const seconds = (backoff: ReturnType<typeof exponentialBackoff>) =>
      [1, 2, 3, 9, 10].map((attempt) => backoffMs(backoff, attempt, 0) / 1000);
    expect(seconds(exponentialBackoff({}))).toEqual([15, 30, 60, 3600, 3600]);
    expect(exponentialBackoff({})).toMatchObject({ jitter: 0.5 });
    expect(seconds(exponentialBackoff({ initial: 7200 }))).toEqual([7200, 7200, 7200, 7200, 7200]);
    expect(seconds(exponentialBackoff({ initial: 1, factor: 10, max: 50 }))).toEqual([1, 10, 50, 50, 50]);
  });
});
