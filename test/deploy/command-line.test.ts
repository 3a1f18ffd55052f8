import { describe, expect, it, vi } from "vitest";
import { readAwsOptions, readDeployOptions, readLocalStackOptions } from "./command-line.ts";

describe("the arguments of test:deploy", () => {
  it("without arguments, the suite runs on MiniStack", () => {
    expect(readDeployOptions([])).toEqual({ stack: undefined });
  });

  it("--stack names a stack in an account", () => {
    expect(readDeployOptions(["--stack", "Shop-Jobs-2"])).toEqual({ stack: "Shop-Jobs-2" });
    expect(readDeployOptions(["--stack=Minutehand"])).toEqual({ stack: "Minutehand" });
  });

  it.for([
    [["--stack", ""], `--stack must be a stack's name, is ""; allowed: a letter, then letters, digits and -`],
    [["--stack", "my_stack"], `--stack must be a stack's name, is "my_stack"`],
    [["--stack"], "Option '--stack <value>' argument missing"],
    [["--stac", "x"], "Unknown option '--stac'; allowed are --stack and --help"],
    [["Minutehand"], "Unexpected argument 'Minutehand'"],
  ] as const)("%j is refused in one line", ([args, message]) => {
    expect(() => readDeployOptions(args)).toThrow(message);
    expect(() => readDeployOptions(args)).not.toThrow("\n");
  });
});

describe("the arguments of test:localstack", () => {
  it("--prepare only fills the cache", () => {
    expect(readLocalStackOptions([])).toEqual({ prepare: false });
    expect(readLocalStackOptions(["--prepare"])).toEqual({ prepare: true });
  });

  it("--stack is refused: only test:deploy has it", () => {
    expect(() => readLocalStackOptions(["--stack", "x"])).toThrow("allowed are --prepare and --help");
  });
});

describe("the arguments of test:aws", () => {
  it("a profile is needed, a region may be given, --remove only deletes", () => {
    expect(readAwsOptions(["--profile", "dev"])).toEqual({
      profile: "dev",
      region: undefined,
      remove: false,
    });
    expect(readAwsOptions(["--profile", "dev", "--region", "ap-southeast-2", "--remove"])).toEqual({
      profile: "dev",
      region: "ap-southeast-2",
      remove: true,
    });
  });

  it.for([
    [[], "--profile must name a profile"],
    [["--profile", ""], "--profile must name a profile"],
    [["--profile", "dev", "--region", "Frankfurt"], `--region must be a region's code, is "Frankfurt"`],
    [["--profile", "dev", "--stack", "x"], "allowed are --profile and --region and --remove and --help"],
  ] as const)("%j is refused in one line", ([args, message]) => {
    expect(() => readAwsOptions(args)).toThrow(message);
  });
});

it("--help prints the options, and then there is nothing to do", () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  expect(readDeployOptions(["--help"])).toBeUndefined();
  expect(readLocalStackOptions(["-h"])).toBeUndefined();
  expect(readAwsOptions(["--help"])).toBeUndefined();
  const printed = log.mock.calls.map(([text]) => text).join("\n");
  log.mockRestore();
  expect(printed).toContain("--stack NAME");
  expect(printed).toContain("--prepare");
  expect(printed).toContain("--profile NAME");
});
