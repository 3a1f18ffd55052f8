import { expect, test } from "vitest";
import { textOn } from "../../../console/page/live-lines.ts";

const CLOCK = "14:00:05.004";

test("a line has its time on the reader's clock, and says that a time inside is on the stack's", () => {
  const texts = [
    "12:00:05.004  work  job-1  enqueued, due 2026-11-28 13:00:00.000",
    "12:00:05.004  work  job-1  moved to 12:30:00.000 (retry)",
    "12:00:05.004  work  job-1  done in attempt 1",
  ];
  expect(texts.map((text) => textOn(CLOCK, { text }))).toEqual([
    "14:00:05.004  work  job-1  enqueued, due 2026-11-28 13:00:00.000 (the stack's clock)",
    "14:00:05.004  work  job-1  moved to 12:30:00.000 (the stack's clock) (retry)",
    "14:00:05.004  work  job-1  done in attempt 1",
  ]);
});

test("a line stays as it is if both clocks are the same, or if it begins with no time", () => {
  const same = `${CLOCK}  work  job-1  enqueued, due 15:00:00.000`;
  expect(textOn(CLOCK, { text: same })).toBe(same);
  expect(textOn(CLOCK, { text: "the app is ready" })).toBe("the app is ready");
});

test("a time that a handler writes stays as it is", () => {
  const text = "12:00:05.004  onWork  sent at 12:00:05.001";
  expect(textOn(CLOCK, { text })).toBe("14:00:05.004  onWork  sent at 12:00:05.001");
});
