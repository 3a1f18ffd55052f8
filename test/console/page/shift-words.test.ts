import { expect, test } from "vitest";
import { readShift } from "../../../console/page/shift-words.ts";

const HOUR = 3_600_000;

test.each([
  ["2", "2h", 2 * HOUR],
  ["+2", "2h", 2 * HOUR],
  ["-0.5", "-30m", -HOUR / 2],
  ["\u22121", "-1h", -HOUR],
  ["+1h", "1h", HOUR],
  ["-1h30m", "-90m", -1.5 * HOUR],
  ["- 30m", "-30m", -HOUR / 2],
  ["1d", "24h", 24 * HOUR],
  ["0.01", "36s", 36_000],
  ["0", "0h", 0],
])("%j is a shift, and a number means hours", (words, text, ms) => {
  expect(readShift(words)).toEqual({ text, ms });
});

test.each(["", "soon", "h", "1x", "--1", "tomorrow"])("%j is no shift", (words) => {
  expect(readShift(words)).toBeUndefined();
});
