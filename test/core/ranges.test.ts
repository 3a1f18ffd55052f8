import { describe, expect, it } from "vitest";
import { beforeTime } from "../../src/core/position.ts";
import { doneOf, type Range } from "../../src/core/ranges.ts";

const rangeOf = (from: number, to: number): Range => ({ from: beforeTime(from), to: beforeTime(to) });

describe("the ranges that a cursor records", () => {
  it("are at most 4,000, and the earliest are forgotten", () => {
    const ranges = Array.from({ length: 4002 }, (_, i) => rangeOf(10 * i + 1, 10 * i + 5));
    expect(doneOf(beforeTime(0), ranges)).toEqual({ swept: beforeTime(0), ahead: ranges.slice(2) });
  });

  it("before the place that all sweeps have reached are forgotten", () => {
    const ranges = [rangeOf(1, 5), rangeOf(10, 15), rangeOf(20, 25)];
    expect(doneOf(beforeTime(12), ranges)).toEqual({ swept: beforeTime(15), ahead: [rangeOf(20, 25)] });
  });
});
