import { describe, expect, it } from "vitest";
import { truncate } from "../../general/text.ts";

describe("text", () => {
  it("is cut at whole characters", () => {
    expect(truncate("äöü", 3)).toBe("ä");
    expect(truncate("abc", 3)).toBe("abc");
    expect(truncate("a\ud800", 9)).toBe("a\ufffd");
    expect(Buffer.byteLength(truncate("😀".repeat(100), 255))).toBe(252);
  });
});
