import { expect, it } from "vitest";
import { parseCommandLine } from "../../tools/bench/options.ts";

const KNOWN = ["burst", "spread", "units"];

it("measures everything without options", () => {
  expect(parseCommandLine([], KNOWN)).toEqual({ help: false, quick: false, write: false, only: [] });
});

it("takes names that are separated by commas, and repeated options", () => {
  const { only, quick } = parseCommandLine(["--only", "burst,spread", "--only", "units", "--quick"], KNOWN);
  expect(only).toEqual(["burst", "spread", "units"]);
  expect(quick).toBe(true);
});

it("refuses an unknown name, and names the known ones", () => {
  expect(() => parseCommandLine(["--only", "brust"], KNOWN)).toThrow(
    '--only must name one of burst, spread, units, got "brust"',
  );
});

it("writes the page only with all figures in full", () => {
  expect(parseCommandLine(["--write"], KNOWN).write).toBe(true);
  for (const less of [["--quick"], ["--only", "burst"]])
    expect(() => parseCommandLine(["--write", ...less], KNOWN)).toThrow("neither --only nor --quick");
});
