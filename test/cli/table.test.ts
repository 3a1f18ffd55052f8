import { expect, test } from "vitest";
import { type Column, tableOf } from "../../src/cli/table.ts";

const COLUMNS: Column<never>[] = ["NAME", "COUNT", "NOTE"].map((head) => ({ head, text: () => head }));
const plain = (_: unknown, text: string) => text;

test("a table aligns its cells by the width that a terminal shows", () => {
  const painted = "\u001b[31mred\u001b[39m";
  const lines = [
    ["日本", "1", painted],
    ["a", "1000000", ""],
    ["long one", "", "x"],
  ];
  const right = COLUMNS.map((column, i) => (i === 1 ? { ...column, align: "right" as const } : column));
  expect([...tableOf(right, lines, plain)]).toEqual([
    "NAME        COUNT  NOTE",
    `日本            1  ${painted}`,
    "a         1000000",
    "long one           x",
  ]);
});

test("a table leaves out columns that are empty in all lines", () => {
  expect([...tableOf(COLUMNS, [["a", "", "b"]], plain)]).toEqual(["NAME  NOTE", "a     b"]);
});

test("a table may have 150,000 lines", () => {
  const lines = Array.from({ length: 150_000 }, () => ["a"]);
  let count = 0;
  for (const _ of tableOf(COLUMNS.slice(0, 1), lines, plain)) count++;
  expect(count).toBe(150_001);
});

test("a table that is wider than the terminal continues each line, and loses nothing", () => {
  const lines = [
    ["a", "1000000", "long note"],
    ["b", "2", ""],
  ];
  expect([...tableOf(COLUMNS, lines, plain, 20)]).toEqual([
    "NAME  COUNT",
    "    NOTE",
    "a     1000000",
    "    long note",
    "b     2",
  ]);
  expect([...tableOf(COLUMNS, lines, plain, 24)]).toHaveLength(3);
});

test("a column that alone is wider than the terminal has a line of its own", () => {
  expect([...tableOf(COLUMNS, [["a".repeat(30), "1", "x"]], plain, 20)]).toEqual([
    "NAME",
    "    COUNT  NOTE",
    "a".repeat(30),
    "    1      x",
  ]);
});
