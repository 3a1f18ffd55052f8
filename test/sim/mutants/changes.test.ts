import { describe, expect, it } from "vitest";
import {
  before,
  type Change,
  condition,
  consequence,
  moveAfter,
  moveBefore,
  operand,
  remove,
  text,
  value,
  without,
  withoutOperand,
} from "./changes.ts";
import { damage } from "./defect.ts";
import { markedNodes } from "./marked.ts";

function changed(code: string, change: Change): string {
  const [head, tail] = ["function test(a, b, c, f) {\n// rule: a-rule\n", "\n}"];
  const nodes = markedNodes([["a.ts", head + code + tail]]);
  const { damaged } = damage({ name: "a mutant", rule: "a-rule", change }, nodes);
  return damaged.slice(head.length, -tail.length);
}

describe("a change", () => {
  it.for<[string, Change, string, string]>([
    ["removes a statement", remove, "f(a);\nf(b);", ";\nf(b);"],
    ["removes an item by name", without("b"), "f({ a, b: 1, c });", "f({ a,  c });"],
    ["removes an item of an inner list", without("b"), 'f(a, ["b", "c"]);', 'f(a, [ "c"]);'],
    ["removes several items", without("a", "c"), "f({ a, b, c });", "f({  b,  });"],
    ["removes an item by its place", without(-1), "f(a, b);", "f(a, );"],
    ["makes a condition true", condition(true), "if (a && b) f();", "if (true) f();"],
    ["makes an inner condition false", condition(false), "f(a ? b : c);", "f(false ? b : c);"],
    ["gives a constant another value", value("f($&)"), "const d = a + b;", "const d = f(a + b);"],
    ["assigns another value", value("b"), "a = f();", "a = b;"],
    ["returns another value", value("$& + 1"), "return a;", "return a + 1;"],
    ["returns another value, sometimes", value("b"), "if (c) return a;", "if (c) return b;"],
    ["does something else, sometimes", consequence("f(b);"), "if (a) f(a);", "if (a) f(b);"],
    ["changes an operand", operand("+", 1, "30 * $&"), "f(a + b);", "f(a + 30 * b);"],
    ["removes the first operand", withoutOperand("&&", 0), "f(a && b && c);", "f(b && c);"],
    ["removes another operand", withoutOperand("||", 1), "f(a || (b && c) || f);", "f(a || f);"],
    ["puts a statement before", before("f(b);"), "f(a);", "f(b);\nf(a);"],
    [
      "moves a statement down",
      moveAfter("b-rule"),
      "f(a);\n// rule: b-rule\nf(b);\nf(c);",
      ";\n// rule: b-rule\nf(b);\nf(a);\nf(c);",
    ],
    [
      "moves a statement down to a place",
      moveBefore("b-rule"),
      "f(a);\n// rule: b-rule\nf(b);",
      ";\n// rule: b-rule\nf(a);\nf(b);",
    ],
    ["replaces text and keeps names", text(/f\((\w+)\)/, "$1.f()"), "f(a);", "a.f();"],
  ])("%s", ([, change, code, result]) => {
    expect(changed(code, change)).toBe(result);
  });

  it.for<[string, Change, string]>([
    ["a list with such an item", without("d"), "there is no list with item d"],
    ["a condition", condition(true), "there is no condition"],
    ["a value", value("1"), "there is no value"],
    ["an if", consequence("f();"), "there is no if"],
    ["such an operator", operand("-", 0, "1"), "there is no expression with -"],
    ["so many operands", withoutOperand("+", 2), "there is no operand 2 of +"],
    ["the text just once", text(/[ab]/, "c"), "/[ab]/ fits 2 times, not once"],
  ])("must find %s", ([, change, message]) => {
    expect(() => changed("f(a + b);", change)).toThrow(
      `the mutant "a mutant": below // rule: a-rule in a.ts: ${message}`,
    );
  });

  it("must change something", () => {
    expect(() => changed("f(a);", text(/a/, "a"))).toThrow('the mutant "a mutant": its change does nothing');
  });

  it("must leave code that parses", () => {
    expect(() => changed("f(a);", text(/\)/, ""))).toThrow("a.ts cannot be parsed");
  });

  it.for([
    "d",
    "d.a",
    "{ d }",
    "[() => { const d = 1; }, d]",
    "(e = d) => e",
    "{ a: () => { for (const d of a) f(d); return d; } }",
  ])("must use declared names: not %s", (code) => {
    expect(() => changed("const e = f();", value(code))).toThrow("nothing declares d in a.ts");
  });

  it.for([
    "a.d",
    "a?.d",
    "{ d: 1 }",
    "(({ g, h: [d] }, ...i) => [d, g, i])()",
    "() => { try { f(); } catch (d) { f(d); } }",
    "() => { for (const d of a) f(d); }",
    "() => { f(later); var later; const d = 1; class Local {} return [d, Local]; }",
    "[console, new Map<D, d>(), a as D, undefined]",
  ])("may use what is declared, in %s", (code) => {
    expect(changed("const e = f();", value(code))).toBe(`const e = ${code};`);
  });
});
