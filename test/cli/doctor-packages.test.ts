import { expect, test } from "vitest";
import { type } from "./command-line.ts";

test("doctor names the missing packages of the AWS SDK once, and speaks of no credentials", async () => {
  const { code, out } = await type(undefined, ["doctor", "--stack", "Shop"], {
    env: {},
    isInstalled: () => false,
  });
  const failures = out.split("\n").filter((line) => line.startsWith("failed"));
  expect(failures).toEqual([
    expect.stringMatching(
      /^failed {3}AWS SDK: doctor needs the npm packages @aws-sdk\/client-sts and @aws-sdk\/client-cloudformation and @aws-sdk\/client-lambda, which are not installed: npm install --save-dev /,
    ),
  ]);
  expect(out).not.toMatch(/credentials|log in/);
  expect(code).toBe(1);
});
