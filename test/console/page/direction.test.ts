import { expect, test } from "vitest";
import { directedParts, jsonText, withVisibleMarks } from "../../../console/page/direction.ts";

test("characters that set a direction are shown as escapes, and JSON keeps its value", () => {
  const body = { "\u200e\u061ckey": "gnp.\u202eexe", isolate: "\u2066a\u2069" };
  const text = jsonText(body, 2);
  expect(text).toBe('{\n  "\\u200e\\u061ckey": "gnp.\\u202eexe",\n  "isolate": "\\u2066a\\u2069"\n}');
  expect(JSON.parse(text)).toEqual(body);
  expect(withVisibleMarks("ordinary: שלום, 👩‍👧\n")).toBe("ordinary: שלום, 👩‍👧\n");
});

test("each string is a part of its own if a letter is written from right to left", () => {
  const text = '{"שלום": "a \\" b", "n": 1}';
  const parts = directedParts(text);
  expect(parts.join("")).toBe(text);
  expect(parts.filter((_, index) => index % 2 === 1)).toEqual(['"שלום"', '"a \\" b"', '"n"']);
  expect(directedParts('{"a": "b"}')).toEqual(['{"a": "b"}']);
});
