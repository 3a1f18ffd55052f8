import { expect, it } from "vitest";
import { medianRatio } from "../../bench/rounds.ts";

it("ratios are taken of neighbours in time, not of the medians", () => {
  expect(medianRatio([10, 50, 90], [20, 50, 100])).toBe(0.9);
});
