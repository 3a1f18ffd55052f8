import { expect, it } from "vitest";
import { medianRatio } from "../../tools/bench/rounds.ts";

it("a ratio is the median of the ratios of the pairs, not the ratio of the medians", () => {
  expect(medianRatio([10, 50, 90], [20, 50, 100])).toBe(0.9);
});
