import { describe, expect, it, vi } from "vitest";
import { readDeployOptions, readLocalStackOptions } from "./command-line.ts";

describe("the arguments of test:deploy", () => {
  it("without any, MiniStack is meant", () => {
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
  it("--prepare fills the cache only", () => {
    expect(readLocalStackOptions([])).toEqual({ prepare: false });
    expect(readLocalStackOptions(["--prepare"])).toEqual({ prepare: true });
  });

  it("--stack is for test:deploy", () => {
    expect(() => readLocalStackOptions(["--stack", "x"])).toThrow("allowed are --prepare and --help");
  });
});

it("--help prints what there is and asks for no work", () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  expect(readDeployOptions(["--help"])).toBeUndefined();
  expect(readLocalStackOptions(["-h"])).toBeUndefined();
  const printed = log.mock.calls.map(([text]) => text).join("\n");
  log.mockRestore();
  expect(printed).toContain("--stack NAME");
  expect(printed).toContain("--prepare");
});
