import fc from "fast-check";
import { describe, expect } from "vitest";
import { beforeTime } from "../../src/core/position.ts";
import { type Done, gapsOf, type Range, rangesText, storedRanges, withDone } from "../../src/core/ranges.ts";
import { property } from "./property.ts";

const MOST = 60;
const rangeOf = (from: number, to: number): Range => ({ from: beforeTime(from), to: beforeTime(to) });
const ranges = fc.array(
  fc.tuple(fc.nat(MOST), fc.nat(12)).map(([from, length]) => ({ from, to: from + length })),
  { maxLength: 12 },
);
const swept = fc.nat(20);

const doneOf = (start: number, some: readonly { from: number; to: number }[]): Done =>
  some.reduce<Done>((done, { from, to }) => withDone(done, rangeOf(from, to)), {
    swept: beforeTime(start),
    ahead: [],
  });

const isIn = (number: number, { from, to }: Range): boolean =>
  from <= beforeTime(number) && beforeTime(number) < to;

describe("the ranges that a sweep has done", () => {
  property(
    "leave exactly those gaps that nobody has done",
    [swept, ranges, fc.nat(MOST)],
    (start, some, limit) => {
      const gaps = gapsOf(doneOf(start, some), beforeTime(limit));
      for (let number = 0; number < MOST + 12; number++) {
        const isDone = number < start || some.some(({ from, to }) => from <= number && number < to);
        expect(gaps.filter((gap) => isIn(number, gap))).toHaveLength(!isDone && number < limit ? 1 : 0);
      }
      expect(gaps.every(({ from, to }) => from < to)).toBe(true);
      expect(gaps).toEqual(gaps.toSorted((one, other) => (one.from < other.from ? -1 : 1)));
    },
  );

  property("lie after the cursor, apart from each other", [swept, ranges], (start, some) => {
    const { swept: reached, ahead } = doneOf(start, some);
    const ends = [reached, ...ahead.map(({ to }) => to)];
    for (const [i, { from, to }] of ahead.entries()) expect((ends[i] ?? "") < from && from < to).toBe(true);
  });

  property("are the same in any order", [swept, ranges], (start, some) => {
    expect(doneOf(start, some.toReversed())).toEqual(doneOf(start, some));
  });

  property("are read as they were written", [swept, ranges], (start, some) => {
    const { ahead } = doneOf(start, some);
    expect(storedRanges(rangesText(ahead))).toEqual(ahead);
  });
});
