import { describe, expect, it } from "vitest";
import { markedNodes } from "./marked.ts";

function below(source: string): string | undefined {
  const { node } = markedNodes([["a.ts", source]]).get("a-rule") ?? {};
  return node && source.slice(node.start, node.end);
}

describe("a marker", () => {
  it.for([
    ["a statement", "first();\n// rule: a-rule\nawait second();\nthird();", "await second();"],
    ["an exported constant", "// rule: a-rule\nexport const DAY = 5;", "export const DAY = 5;"],
    ["a property", "call({\n  one,\n  // rule: a-rule\n  two: 2,\n});", "two: 2"],
    ["an item", "const all = [\n  1,\n  // rule: a-rule\n  ...others,\n];", "...others"],
    ["what follows an else", "if (a) b();\n// rule: a-rule\nelse if (c) d();", "if (c) d();"],
    ["a statement with more comments", "// rule: a-rule\n// Because.\n/** So. */\nf();", "f();"],
    ["a statement behind letters of several bytes", "f('§é');\n// rule: a-rule\ng();", "g();"],
  ] as const)("names %s", ([, source, code]) => {
    expect(below(source)).toBe(code);
  });

  it("is not found in the text of a string", () => {
    expect(below("f('// rule: a-rule');\ng();")).toBe(undefined);
  });

  it.for([
    ["a block's end", "if (a) {\n  b();\n  // rule: a-rule\n}\nc();"],
    ["a file's end", "b();\n// rule: a-rule"],
  ] as const)("must not stand at %s", ([, source]) => {
    expect(() => below(source)).toThrow(
      "// rule: a-rule in a.ts stands above no statement, property or list item",
    );
  });

  it.for(["// rule: A rule", "//rule: a-rule", "// rule: a-rule, since", "// Rule: a-rule"])(
    "must be well formed, not %s",
    (marker) => {
      expect(() => below(`${marker}\nf();`)).toThrow("must name its rule by small words and hyphens");
    },
  );

  it("must not be doubled, in a file or in two", () => {
    const source = "// rule: a-rule\nf();\n";
    expect(() => below(source + source)).toThrow("// rule: a-rule stands in a.ts and again in a.ts");
    const sources = [
      ["a.ts", source],
      ["b.ts", source],
    ] as const satisfies [string, string][];
    expect(() => markedNodes(sources)).toThrow("// rule: a-rule stands in a.ts and again in b.ts");
  });
});
