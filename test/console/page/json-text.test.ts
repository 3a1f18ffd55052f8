import { expect, test } from "vitest";
import { readJson } from "../../../console/page/json-text.ts";

test.each(['{"a": [1, null, "x"]}', '[{"a": 1}, {"a": 0.10000000000000001}]', "-0", "17", '"text"', "null"])(
  "%s is JSON",
  (text) => {
    expect(readJson(text)).toEqual({ value: JSON.parse(text) });
  },
);

test.each([
  ['{\n  "a": 1,\n}', 3, 1],
  ['{\n  "a": tru\n}', 2, 8],
  ["", 1, 1],
  ['{"a": 1} // why', 1, 10],
  ["{a: 1}", 1, 2],
  ['{"a": 1} 2', 1, 10],
  ['{\n  "a": [1, 9007199254740993]\n}', 2, 12],
  ['{\n  "a": {"b": 1, "c": 2, "b": 3}\n}', 2, 25],
])("%j has a mistake", (text, line, column) => {
  const read = readJson(text);
  expect("mistakes" in read && read.mistakes[0]).toMatchObject({ line, column });
});

test("whatever JSON.parse refuses is refused", () => {
  for (const text of [
    "{'a': 1}",
    "[1,]",
    "01",
    "+1",
    "NaN",
    '"\t"',
    '"\\x"',
    "\u00a01",
    "[1 2]",
    '{"a" 1}',
    "1e",
    "/**/1",
  ]) {
    expect(() => JSON.parse(text), text).toThrow();
    expect(readJson(text), text).toHaveProperty("mistakes");
  }
});
