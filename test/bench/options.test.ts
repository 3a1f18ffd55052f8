import { expect, it } from "vitest";
import { parseCommandLine } from "../../bench/options.ts";

const KNOWN = ["burst", "spread", "units"];

it("measures everything without options", () => {
  expect(parseCommandLine([], KNOWN)).toEqual({ help: false, quick: false, only: [] });
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
