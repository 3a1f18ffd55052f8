import { expect, test } from "vitest";
import { kindOf, matchingLines, textOn } from "../../../console/page/live-lines.ts";

test("lines are found by a job's id or its beginning, and by a text, in upper or lower case", () => {
  const line = { number: 1, at: 0, topic: "work", job: "01ABC", text: "12:00:05.004  onWork  Paid" };
  const found = (filter: object) => matchingLines([line], { topic: "", job: "", text: "", ...filter }).length;
  expect(found({ job: "01ABC" })).toBe(1);
  expect(found({ job: "01ab" })).toBe(1);
  expect(found({ job: "01AD" })).toBe(0);
  expect(found({ text: "paid" })).toBe(1);
  expect(found({ topic: "other" })).toBe(0);
});

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

test("a warning of the runner is bad, also after a move of the clock", () => {
  for (const moved of ["", "[+1h] "])
    expect(kindOf({ text: `${moved}12:00:05.004  warning: no consumer` })).toBe("bad");
  expect(kindOf({ text: "12:00:05.004  reloaded mail in 0.3 s" })).toBe("");
});

test("a time that a handler writes stays as it is", () => {
  const text = "12:00:05.004  onWork  sent at 12:00:05.001";
  expect(textOn(CLOCK, { text })).toBe("14:00:05.004  onWork  sent at 12:00:05.001");
});
