import { expect, test, vi } from "vitest";
import type * as OptionalPackages from "../../src/general/optional-packages.ts";
import { type } from "./command-line.ts";

vi.mock("../../src/general/optional-packages.ts", async (original) => {
  const real = await original<typeof OptionalPackages>();
  const missingPackages: typeof real.missingPackages = (who, names) =>
    real.missingPackages(who, names, () => false);
  const requirePackages: typeof real.requirePackages = (who, ...names) => {
    throw new Error(missingPackages(who, names));
  };
  return { ...real, missingPackages, requirePackages };
});

test("doctor names the missing packages of the AWS SDK once, and speaks of no credentials", async () => {
  const { code, out } = await type(undefined, ["doctor", "--stack", "Shop"], { env: {} });
  const failures = out.split("\n").filter((line) => line.startsWith("failed"));
  expect(failures).toEqual([
    expect.stringMatching(
      /^failed {3}AWS SDK: doctor needs the npm packages @aws-sdk\/client-sts and @aws-sdk\/client-cloudformation and @aws-sdk\/client-lambda, which are not installed: npm install --save-dev /,
    ),
  ]);
  expect(out).not.toMatch(/credentials|log in/);
  expect(code).toBe(1);
});
