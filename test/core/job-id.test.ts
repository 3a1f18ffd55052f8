import { describe, expect, it } from "vitest";
import { addressOf, drawJobId, drawToken, isJobId } from "../../src/core/job-id.ts";
import { counting, TIME } from "./waiting-home.ts";

describe("ids", () => {
  it("an id is the address of its home", () => {
    for (let i = 0; i < 200; i++) {
      const random = (count: number): Uint8Array =>
        Uint8Array.from({ length: count }, (_, j) => i * 31 + j * 17);
      const id = drawJobId(TIME + i * 1_000_003, 1 + i, random);
      expect(isJobId(id)).toBe(true);
      expect(addressOf(id).time).toBe(TIME + i * 1_000_003);
      expect(addressOf(id).shard).toBeLessThan(1 + i);
    }
  });

  it("text that is not an id is recognised", () => {
    const id = drawJobId(TIME, 8, counting);
    for (const text of [
      "",
      id.slice(1),
      `${id}0`,
      id.toLowerCase(),
      id.replace(/.$/, "U"),
      `8${id.slice(1)}`,
    ]) {
      expect(isJobId(text)).toBe(false);
    }
  });

  it("a token has 128 bits", () => {
    expect(Buffer.from(drawToken(counting), "base64url")).toHaveLength(16);
  });
});
