import { expect, test } from "vitest";
import { printable } from "../../local/printable.ts";

test.each([
  ["a control character", "a\u001b[31m\u009bb\u0007", "a\\u001b[31m\\u009bb\\u0007"],
  ["a character that changes the direction of writing", "a\u202eb\u2066", "a\\u202eb\\u2066"],
  ["a separator of lines or paragraphs", "a\u2028b\u2029", "a\\u2028b\\u2029"],
  ["a character without a width", "a\u200bb\ufeff", "a\\u200bb\\ufeff"],
  ["a tag, which has two units,", "a\u{e0041}b", "a\\udb40\\udc41b"],
])("%s is escaped as in JSON", (_, text, shown) => {
  expect(printable(text)).toBe(shown);
  // Escaped JSON keeps its value.
  expect(JSON.parse(printable(JSON.stringify(text)))).toBe(text);
});

test("ordinary text of any language is unchanged", () => {
  const text = "Zürich, 東京, עברית, 👍🏽, é\u0301, “…”";
  expect(printable(text)).toBe(text);
});
