import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DOCS, pages } from "../../site/docs.ts";
import { fillTables, table, tablesIn } from "../../site/markdown.ts";
import { TABLES } from "../../site/tables.ts";

const texts = pages().map((page) => ({ page, text: readFileSync(join(DOCS, page), "utf8") }));

test("each table stands in a page", () => {
  expect(texts.flatMap(({ text }) => tablesIn(text)).sort()).toEqual(Object.keys(TABLES).sort());
});

test.each(texts.filter(({ text }) => tablesIn(text).length > 0))(
  "$page says what the declarations say; `npm run docs` writes it",
  ({ text }) => {
    expect(text).toBe(fillTables(text, TABLES));
  },
);

test("the guide says what to do at each alarm", () => {
  const namesIn = (text: string): string[] =>
    [...text.matchAll(/^\| `([^`]+)` /gm)].map(([, name = ""]) => name);
  const [guide = ""] = texts.filter(({ page }) => page === "guides/operating.md").map(({ text }) => text);
  expect(namesIn(guide).sort()).toEqual(namesIn(TABLES.alarms?.() ?? "").sort());
});

test("a cell may hold a bar, and columns are as wide as their widest cell", () => {
  expect(table(["a", "b"], [["x | y", "z"]])).toBe("| a      | b   |\n| ------ | --- |\n| x \\| y | z   |");
});

test("a page's place for a table that nobody makes is refused", () => {
  expect(() => fillTables("<!-- table: nothing -->\n<!-- /table -->", TABLES)).toThrow('the table "nothing"');
});
