import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { findDynoxide } from "../../../local/processes/dynoxide.ts";

test("this machine's binary is found", () => {
  expect(existsSync(findDynoxide())).toBe(true);
});

test("without a binary the error names the package and another way", () => {
  expect(() => findDynoxide("plan9", "mips")).toThrow(
    /^there is no embedded DynamoDB .* @dynoxide\/plan9-mips is not installed; .*AWS_ENDPOINT_URL_DYNAMODB/,
  );
});
