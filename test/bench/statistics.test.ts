import { expect, it } from "vitest";
import { median, percentile } from "../../tools/bench/statistics.ts";

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
