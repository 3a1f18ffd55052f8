import { expect, test } from "vitest";
import { tooLong } from "../tools/lengths.ts";

/** A function of this many lines, with the given head and end. */
function ofLines(count: number, head = "function f() {", end = "}"): string {
  return [head, ...Array.from({ length: count - 2 }, () => "  f();"), end].join("\n");
}

test.each([
  ["function f() {", "}"],
  ["const f = () => {", "};"],
  ["export default {\n  f() {", "}\n};"],
  ["test('f', () => {", "});"],
])("%s may have 40 lines, and not 41", (head, end) => {
  expect(tooLong("a.ts", ofLines(40, head, end))).toEqual([]);
  expect(tooLong("a.ts", ofLines(41, head, end))).toMatchObject([{ lines: 41 }]);
});

test("a table or a list may have 70 lines if a comment names it", () => {
  const named = (lines: number) => `// long: the table of steps\n${ofLines(lines)}`;
  expect(tooLong("a.ts", named(70))).toEqual([]);
  expect(tooLong("a.ts", named(71))).toEqual([{ line: 2, lines: 71 }]);
  expect(tooLong("a.ts", named(70).replace("the table of steps", ""))).toHaveLength(1);
});

test.each(["describe('f', () => {", "describe.each([1])('f', () => {"])("%s may have any length", (head) => {
  expect(tooLong("a.test.ts", ofLines(500, head, "});"))).toEqual([]);
});
