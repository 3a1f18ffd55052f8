import { describe, expect, it } from "vitest";
import { medianRatio } from "../../bench/rounds.ts";
import { median, percentile } from "../../bench/statistics.ts";
import { atLeast, atMost, markdownTable } from "../../bench/table.ts";

describe("the benchmarks' numbers", () => {
  it("a percentile is a value that was measured, and the share does not exceed it", () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(values, 0.5)).toBe(50);
    expect(percentile(values, 0.99)).toBe(99);
    expect(percentile(values, 1)).toBe(100);
    expect(percentile([7], 0.5)).toBe(7);
  });

  it("a median of an even count lies between the middle two", () => {
    expect(median([4, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it("ratios are taken of neighbours in time, not of the medians", () => {
    expect(medianRatio([10, 50, 90], [20, 50, 100])).toBe(0.9);
  });

  it("an aim is met at its bound", () => {
    expect(atLeast(0.8, 0.8).met).toBe(true);
    expect(atMost(50, 50).met).toBe(true);
    expect(atMost(50.1, 50).met).toBe(false);
  });

  it("a line without ceiling or aim says so", () => {
    expect(
      markdownTable([{ figure: "a", ours: "1" }])
        .split("\n")
        .at(-1),
    ).toBe("| a | 1 | – | – | – |  |");
  });
});
