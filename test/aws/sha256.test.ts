import { expect, test } from "vitest";
import { Sha256 } from "../../src/aws/sha256.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

async function digestOf(data: string, secret?: ConstructorParameters<typeof Sha256>[0]): Promise<string> {
  const hash = new Sha256(secret);
  hash.update(bytesOf(data));
  return Buffer.from(await hash.digest()).toString("hex");
}

test("a hash without a secret is the SHA-256 of FIPS 180-4", async () => {
  expect(await digestOf("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

// RFC 4231, test case 2.
const KEY = "Jefe";
const DATA = "what do ya want for nothing?";
const HMAC = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";

test.each([
  ["text", KEY],
  ["bytes", bytesOf(KEY)],
  ["a part of a buffer", bytesOf(`-${KEY}-`).subarray(1, 1 + KEY.length)],
  ["a buffer", bytesOf(KEY).buffer],
])(
  "a hash with a secret as %s is the HMAC of RFC 4231, also when the secret is used again",
  async (_, secret) => {
    expect(await digestOf(DATA, secret)).toBe(HMAC);
    expect(await digestOf(DATA, secret)).toBe(HMAC);
  },
);

test("two secrets with different bytes have different HMACs", async () => {
  const [one, other] = [bytesOf("one"), bytesOf("two")];
  expect(await digestOf(DATA, one)).not.toBe(await digestOf(DATA, other));
});
