import { describe, expect, it } from "vitest";
import { BATCH_JOBS, LONGEST_DELAY } from "../../src/core/constants.ts";
import { dueTimesOf, dueTimesText } from "../../src/core/due-times.ts";

const NOW = Date.UTC(2026, 2, 1, 9);

describe("due times as text", () => {
  it.each([
    ["equal times", [NOW, NOW, NOW]],
    ["different times in any order", [NOW + 5, NOW, NOW + LONGEST_DELAY, NOW + 5]],
    ["entries without a due time", [undefined, NOW, undefined, undefined, NOW + 1, undefined]],
    ["no due time at all", [undefined, undefined]],
    ["one time", [NOW]],
  ])("are read as they were written: %s", (_, times) => {
    expect(dueTimesOf(dueTimesText(times))).toEqual(times);
  });

  it("are short if the jobs of a batch are due at the same time", () => {
    const times = Array.from({ length: BATCH_JOBS }, () => NOW);
    expect(dueTimesText(times).length).toBeLessThan(20);
  });

  it("need less than 5 KB for 500 different times within ten years", () => {
    const times = Array.from({ length: BATCH_JOBS }, (_, i) => NOW + (i * LONGEST_DELAY) / (BATCH_JOBS - 1));
    const whole = times.map(Math.floor);
    expect(dueTimesText(whole).length).toBeLessThan(5000);
    expect(dueTimesOf(dueTimesText(whole))).toEqual(whole);
  });
});
