import { describe, expect, it } from "vitest";
import { parseCommandLine } from "../../tools/torture/options.ts";

describe("the command line", () => {
  it("has defaults, and accepts each option", () => {
    expect(parseCommandLine([], 17)).toMatchObject({ jobs: 10_000, minutes: 5, seed: 17, soak: false });
    expect(parseCommandLine(["--jobs", "5", "--minutes", "0.5", "--faults", "kills"], 0)).toMatchObject({
      jobs: 5,
      minutes: 0.5,
      families: new Set(["kills"]),
    });
    expect(parseCommandLine(["--soak"], 0).families).toEqual(new Set());
  });

  it.each([
    [["--jobs", "0"], '--jobs must be a number from 1 to 1000000, got "0"'],
    [["--jobs", "1.5"], '--jobs must be a whole number, got "1.5"'],
    [["--minutes", ""], '--minutes must be a number from 0.1 to 1440, got ""'],
    [["--faults", "kills,rain"], '--faults must name some of kills, freezes, network, ticks, got "rain"'],
    [["--fast"], "Unknown option '--fast'"],
  ])("refuses %j", (args, message) => {
    expect(() => parseCommandLine(args, 0)).toThrow(message);
  });
});
