import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { measuredText, PAGE, pageWith } from "../../tools/bench/page.ts";

it("the page of the figures gets all lines of a run, and none of an earlier run", () => {
  const page = readFileSync(PAGE, "utf8");
  const written = pageWith(page, measuredText([{ figure: "a $& b", ours: "1" }], 12.4));
  expect(written).toContain("One run of 12 minutes on ");
  expect(written.split("\n").filter((line) => line.includes("| – | – |"))).toEqual([
    "| a $& b | 1 | – | – | – |  |",
  ]);
  expect(written).not.toContain("burst: drain");
  expect(written).toContain("## How to read it");
});
