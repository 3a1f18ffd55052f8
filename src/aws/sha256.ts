import { createHash, createHmac, createSecretKey, type KeyObject } from "node:crypto";

/** The SDK passes the same array of bytes for each signature of a day. */
const keyObjects = new WeakMap<object, KeyObject>();

type Data = string | ArrayBuffer | ArrayBufferView;

/** Hashes for the SDK's signatures. The SDK's own class makes Node check and copy the secret for each, a twentieth of the CPU time of a request. */
export class Sha256 {
  readonly #hash;

  constructor(secret?: Data) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", keyOf(secret));
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

function keyOf(secret: Data): string | KeyObject {
  if (typeof secret === "string") return secret;
  const known = keyObjects.get(secret);
  if (known) return known;
  const bytes = ArrayBuffer.isView(secret)
    ? Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength)
    : Buffer.from(secret);
  const made = createSecretKey(bytes);
  keyObjects.set(secret, made);
  return made;
}
