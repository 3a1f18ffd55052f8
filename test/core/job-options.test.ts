import { readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { expect, test } from "vitest";
import { JOB_OPTIONS, keptOptionsOf, optionsOf, optionTrouble } from "../../core/job-options.ts";

const FILE = new URL("../../core/job-options.ts", import.meta.url);

/** The docstring of each field of a type, by the field's name. */
function docstringsOf(typeName: string): Record<string, string> {
  const source = readFileSync(FILE, "utf8");
  const { program, comments } = parseSync(FILE.pathname, source);
  const type = program.body
    .flatMap((node) => (node.type === "ExportNamedDeclaration" && node.declaration ? [node.declaration] : []))
    .find((node) => node.type === "TSTypeAliasDeclaration" && node.id.name === typeName);
  if (type?.type !== "TSTypeAliasDeclaration" || type.typeAnnotation.type !== "TSTypeLiteral")
    throw new Error(`${typeName} is no type of fields`);
  return Object.fromEntries(
    type.typeAnnotation.members.flatMap((member) => {
      if (member.type !== "TSPropertySignature" || member.key.type !== "Identifier") return [];
      const comment = comments.findLast(({ end }) => end <= member.start);
      const text = comment?.value.replace(/^\*|\n\s*\*/g, "").trim() ?? "";
      return [[member.key.name, text]];
    }),
  );
}

test("each option's description is the sentence that its type says", () => {
  const described = Object.entries(JOB_OPTIONS).map(([name, { description }]) => [name, description]);
  expect(Object.fromEntries(described)).toEqual(docstringsOf("JobOptions"));
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
