import { describe, expect, it } from "vitest";
import { answerBytes, quoted, truncate } from "../../src/general/text.ts";

describe("text", () => {
  it("is cut at whole characters", () => {
    expect(truncate("äöü", 3)).toBe("ä");
    expect(truncate("abc", 3)).toBe("abc");
    expect(truncate("a\ud800", 9)).toBe("a\ufffd");
    expect(Buffer.byteLength(truncate("😀".repeat(100), 255))).toBe(252);
  });

  it("is shown in quotes, and a long one with its length", () => {
    expect(quoted('a "b"\n', 60)).toBe('"a \\"b\\"\\n"');
    expect(quoted("k".repeat(60), 60)).toBe(`"${"k".repeat(60)}"`);
    expect(quoted("k".repeat(1300), 60)).toBe(`"${"k".repeat(60)}…" (1,300 characters)`);
  });

  it.each([
    ["quotes", '"'.repeat(9)],
    ["characters of several bytes", "ä😀"],
    ["plain text", "abc"],
  ])("has the bytes that it has in the answer of a Lambda function: %s", (_, text) => {
    const answer = JSON.stringify({ body: JSON.stringify([text, text]) });
    const empty = JSON.stringify({ body: JSON.stringify([]) });
    // Of a value alone two quotes are counted, which an answer has once for all its values. A comma divides the values.
    expect(Buffer.byteLength(answer) - Buffer.byteLength(empty)).toBe(2 * (answerBytes(text) - 2) + 1);
  });
});
