import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { remove } from "./changes.ts";
import { damage } from "./defect.ts";
import { markedNodes } from "./marked.ts";
import { MUTANTS } from "./mutants.ts";

const NODES = markedNodes();
const [DOCS = ""] = globSync("docs/**/reliability.md");

describe("a mutant", () => {
  it.for(MUTANTS)("can damage the code: $name", (mutant) => {
    expect(damage(mutant, NODES).file).toBe(NODES.get(mutant.rule)?.file);
  });

  it("has a name of its own", () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });

  it("is counted in the docs, in the row of its rule's folder", () => {
    const rows = readFileSync(DOCS, "utf8").matchAll(/^\| `([a-z/-]+)` +\| (\d+) +\|/gm);
    const documented = Object.fromEntries([...rows].map(([, folder, count]) => [folder, Number(count)]));
    const folders = MUTANTS.map(({ rule }) => dirname(NODES.get(rule)?.file ?? ""));
    const counted = Object.fromEntries(
      [...new Set(folders)].map((folder) => [folder, folders.filter((one) => one === folder).length]),
    );
    expect(documented).toEqual(counted);
  });

  it("needs its marker", () => {
    const mutant = { name: "a mutant", rule: "a-rule", change: remove };
    expect(() => damage(mutant, new Map())).toThrow(
      'the mutant "a mutant": nothing is marked // rule: a-rule',
    );
  });

  it("stays in one file", () => {
    const nodes = markedNodes([
      ["a.ts", "// rule: a-rule\nf();"],
      ["b.ts", "// rule: b-rule\ng();"],
    ]);
    const mutant = {
      name: "a mutant",
      rule: "a-rule",
      change: remove,
      and: { rule: "b-rule", change: remove },
    };
    expect(() => damage(mutant, nodes)).toThrow("// rule: b-rule is not in a.ts but in b.ts");
  });
});

describe("a marker", () => {
  it("is used by a mutant", () => {
    const used = new Set<string>();
    const noted = { get: (rule: string) => NODES.get(used.add(rule) && rule) };
    for (const mutant of MUTANTS) damage(mutant, noted);
    expect([...NODES.keys()].filter((rule) => !used.has(rule))).toEqual([]);
  });
});
