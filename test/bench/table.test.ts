import { expect, it } from "vitest";
import { atLeast, atMost, markdownTable } from "../../tools/bench/table.ts";

it("an aim is met at its bound", () => {
  expect(atLeast(0.8, 0.8).met).toBe(true);
  expect(atMost(50, 50).met).toBe(true);
  expect(atMost(50.1, 50).met).toBe(false);
});

it("a line without ceiling or aim says so", () => {
  expect(
    markdownTable([{ figure: "a", ours: "1" }])
      .split("\n")
      .at(-1),
  ).toBe("| a | 1 | – | – | – |  |");
});
