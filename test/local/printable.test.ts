import { expect, test } from "vitest";
import { printable } from "../../local/printable.ts";

test.each([
  ["a control character", "a\u001b[31m\u009bb\u0007", "a\\u001b[31m\\u009bb\\u0007"],
  ["what turns the direction of writing", "a\u202eb\u2066", "a\\u202eb\\u2066"],
  ["separators of lines and paragraphs", "a\u2028b\u2029", "a\\u2028b\\u2029"],
  ["what has no width", "a\u200bb\ufeff", "a\\u200bb\\ufeff"],
  ["a tag, of two units", "a\u{e0041}b", "a\\udb40\\udc41b"],
])("%s is shown as JSON writes it", (_, text, shown) => {
  expect(printable(text)).toBe(shown);
  // The same value in JSON.
  expect(JSON.parse(printable(JSON.stringify(text)))).toBe(text);
});

test("text of people is as it was", () => {
  const text = "Zürich, 東京, עברית, 👍🏽, é\u0301, “…”";
  expect(printable(text)).toBe(text);
});
