import { expect, test } from "vitest";
import { JOB_OPTIONS, keptOptionsOf, optionsOf, optionTrouble } from "../../src/core/job-options.ts";
import { documentedFields } from "../../tools/site/docstrings.ts";

const FILE = new URL("../../src/core/job-options.ts", import.meta.url);

test("each option's description is the sentence in the docstring of its type", () => {
  const described = Object.entries(JOB_OPTIONS).map(([name, { description }]) => [name, description]);
  const said = documentedFields(FILE, "JobOptions").map(({ name, text }) => [name, text]);
  expect(described).toEqual(said);
});

test("a stored job keeps all options but its spread, and nothing else", () => {
  const job = { topic: "t", tag: "sale", spread: 1000, maxAttempts: 3 };
  expect(optionsOf(job)).toEqual({ tag: "sale", spread: 1000, maxAttempts: 3 });
  expect(keptOptionsOf(job)).toEqual({ tag: "sale", maxAttempts: 3 });
});

test.each([
  ["tag", 7, "text"],
  ["callbackUrl", null, "text"],
  ["headers", { a: 1 }, "a map"],
  ["headers", ["a"], "a map"],
  ["maxAttempts", -1, "a count"],
  ["maxAttempts", 1.5, "a count"],
  ["expiresAfter", "1h", "a number of ms"],
  ["spread", 86_400_001, "a number of ms"],
] as const)("a stored %s must not be %j", (name, value, wanted) => {
  expect(optionTrouble(name, value)).toBe(wanted);
});

test.each([
  ["tag", undefined],
  ["headers", { a: "1" }],
  ["maxAttempts", 1],
  ["spread", 86_400_000],
] as const)("a stored %s may be %j", (name, value) => {
  expect(optionTrouble(name, value)).toBeUndefined();
});
