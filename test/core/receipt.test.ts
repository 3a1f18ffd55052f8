import { describe, expect, it } from "vitest";
import { decodeReceipt, encodeReceipt } from "../../src/core/receipt.ts";
import { waitingHome } from "./waiting-home.ts";

describe("receipts", () => {
  it("are the same after encoding and decoding, and other text is not a receipt", () => {
    const receipt = {
      v: 1,
      id: waitingHome().id,
      revision: 2,
      attempt: 1,
      token: "t",
      handle: "h/+=",
    } as const;
    expect(decodeReceipt(encodeReceipt(receipt))).toEqual(receipt);
    for (const text of ["", "?", "e30", Buffer.from('{"v":1,"id":"x"}').toString("base64url")]) {
      expect(decodeReceipt(text)).toBeUndefined();
    }
  });
});
