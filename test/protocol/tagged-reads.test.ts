import { globSync, readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { expect, test } from "vitest";

/** The types in this source that unite an `Error` with `undefined`, as they are written. */
function errorsBesideUndefined(source: string): string[] {
  const found: string[] = [];
  JSON.stringify(parseSync("a.ts", source).program, (_, node) => {
    if (node?.type !== "TSUnionType") return node;
    const parts = node.types as { type: string; typeName?: { name?: string } }[];
    const isError = parts.some(({ typeName }) => typeName?.name === "Error");
    if (isError && parts.some(({ type }) => type === "TSUndefinedKeyword"))
      found.push(source.slice(node.start, node.end));
    return node;
  });
  return found;
}

test.each([
  "type A = Error | undefined;",
  "function a(): Promise<(Home | undefined | Error)[]> {}",
  "const a = new Map<string, Item | undefined | Error>();",
])("%s unites an error with undefined", (source) => {
  expect(errorsBesideUndefined(source)).toHaveLength(1);
});

test.each(["type A = Home | undefined;", 'type A = { is: "unknown"; error: Error } | undefined;'])(
  "%s does not",
  (source) => {
    expect(errorsBesideUndefined(source)).toEqual([]);
  },
);

test("no type of the protocol unites an error with undefined: reads answer a tagged result", () => {
  const files = globSync("src/protocol/**/*.ts");
  expect(files.length).toBeGreaterThan(50);
  for (const file of files) expect(errorsBesideUndefined(readFileSync(file, "utf8")), file).toEqual([]);
});
