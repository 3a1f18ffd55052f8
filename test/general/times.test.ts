import { describe, expect, it } from "vitest";
import { parseDuration } from "../../src/general/times.ts";

describe("durations", () => {
  it.each([
    [90, 90_000],
    [0, 0],
    [0.25, 250],
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["1h30m", 5_400_000],
    ["7d", 604_800_000],
    ["250ms", 250],
  ])("%s is %i ms", (value, ms) => {
    expect(parseDuration(value)).toBe(ms);
  });

  it.each(["", "1", "m", "-1s", "1.5h", "1 h", "1w", "1h ", -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300])(
    "%s is not a duration",
    (value) => {
      expect(parseDuration(value)).toBeUndefined();
    },
  );
});
