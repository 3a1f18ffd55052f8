import { MAX_SHARDS } from "./constants.ts";

// Crockford's base 32, as in the ULID specification. It has no I, L, O and U, which are easily misread.
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** The value of each character, by its code. A table, because a sweep decodes thousands of ids. */
const VALUES = Array.from({ length: 128 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)));
const PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const TIME_CHARS = 10;
const SHARD_CHARS = 2;
const RANDOM_CHARS = 14;
if (MAX_SHARDS > ALPHABET.length ** SHARD_CHARS)
  throw new Error("MAX_SHARDS must fit into SHARD_CHARS characters");

/** Draws cryptographically random bytes. It is an argument everywhere, so that a simulation can replay the bytes. */
export type RandomBytes = (count: number) => Uint8Array;

/** Where a job's home lies: the due time with which the job was filed, in ms since the epoch, and the shard. */
export type Address = { time: number; shard: number };

function encode(value: number, chars: number): string {
  let text = "";
  for (let rest = value, i = 0; i < chars; i++, rest = Math.floor(rest / 32))
    text = ALPHABET[rest % 32] + text;
  return text;
}

function decode(text: string): number {
  let value = 0;
  for (let i = 0; i < text.length; i++) value = value * 32 + (VALUES[text.charCodeAt(i)] ?? -1);
  return value;
}

/** Draws a job id of 26 characters: 48 bits for `time`, the job's first due time, 10 bits for the shard, and 70 random bits. */
export function drawJobId(time: number, shards: number, random: RandomBytes): string {
  const bytes = random(RANDOM_CHARS + 2);
  const shard = (((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)) % shards;
  let tail = "";
  for (let i = 0; i < RANDOM_CHARS; i++) tail += ALPHABET[(bytes[i + 2] ?? 0) % 32];
  return encode(time, TIME_CHARS) + encode(shard, SHARD_CHARS) + tail;
}

export const JOB_ID_RULE =
  "must be a job's id: the 26 characters that enqueue answered (a key names a job only with its topic: /topics/{topic}/jobs/{key}, and in the client { topic, key })";

export function isJobId(text: string): boolean {
  return PATTERN.test(text) && decode(text.slice(TIME_CHARS, TIME_CHARS + SHARD_CHARS)) < MAX_SHARDS;
}

/** Reads the address from a job id. */
export function addressOf(id: string): Address {
  return {
    time: decode(id.slice(0, TIME_CHARS)),
    shard: decode(id.slice(TIME_CHARS, TIME_CHARS + SHARD_CHARS)),
  };
}

/** Draws a token of 22 characters, 128 random bits: for claims, and for requests that may be repeated. */
export function drawToken(random: RandomBytes): string {
  return Buffer.from(random(16)).toString("base64url");
}
