import { expect, it } from "vitest";
import { parseCommandLine } from "../../bench/options.ts";

const KNOWN = ["burst", "spread", "units"];

it("measures everything when nothing is said", () => {
  expect(parseCommandLine([], KNOWN)).toEqual({ help: false, quick: false, write: false, only: [] });
});

it("takes names by comma and by repetition", () => {
  const { only, quick } = parseCommandLine(["--only", "burst,spread", "--only", "units", "--quick"], KNOWN);
  expect(only).toEqual(["burst", "spread", "units"]);
  expect(quick).toBe(true);
});

it("refuses a name that it does not know, and says which there are", () => {
  expect(() => parseCommandLine(["--only", "brust"], KNOWN)).toThrow(
    '--only must name one of burst, spread, units, got "brust"',
  );
});

it("writes the page only with all figures in full", () => {
  expect(parseCommandLine(["--write"], KNOWN).write).toBe(true);
  for (const less of [["--quick"], ["--only", "burst"]])
    expect(() => parseCommandLine(["--write", ...less], KNOWN)).toThrow("neither --only nor --quick");
});
