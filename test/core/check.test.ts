import { expect, test } from "vitest";
import { assertWhole } from "../../src/core/check.ts";

test.each([undefined, Number.NaN, 1.5, 0, 11])("%s is no whole number from 1 to 10", (value) => {
  expect(() => assertWhole("max", value as number, 1, 10)).toThrow(
    new RangeError(`max must be a whole number from 1 to 10, not ${value}`),
  );
});

test.each([1, 10])("%s is one", (value) => {
  expect(() => assertWhole("max", value, 1, 10)).not.toThrow();
});
