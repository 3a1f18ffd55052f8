import { describe, expect, it, test } from "vitest";
import { firstCatch, firstOf } from "./catch.ts";

function playing(broken: Record<number, string>) {
  return async (seed: number) => {
    const promise = broken[seed];
    return { violation: promise === undefined ? undefined : { promise, id: "", text: "", time: 0 } };
  };
}

describe("a mutant's catch", () => {
  it("is the first seed that breaks a promise", async () => {
    const plays = { damaged: playing({ 4: "P1", 6: "P2" }), whole: playing({}) };
    expect(await firstCatch([2, 4, 6], plays)).toEqual({ promise: "P1", seed: 4, after: 2 });
  });

  it("is not a seed that breaks a promise without the defect, too", async () => {
    const plays = { damaged: playing({ 4: "P1", 6: "P2" }), whole: playing({ 4: "P6" }) };
    expect(await firstCatch([2, 4, 6], plays)).toEqual({ promise: "P2", seed: 6, after: 3 });
  });

  it("is not an exception that the defect itself throws", async () => {
    const plays = { damaged: playing({ 2: "defect" }), whole: playing({}) };
    expect(await firstCatch([2, 4], plays)).toBe(undefined);
  });
});

test("the known seed is played first, and no seed is left out or played twice", () => {
  expect(firstOf([1, 2, 3], 2)).toEqual([2, 1, 3]);
  expect(firstOf([1, 2, 3], 0)).toEqual([1, 2, 3]);
  expect(firstOf([1, 2, 3], 4)).toEqual([4, 1, 2, 3]);
});
