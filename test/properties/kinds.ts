import fc from "fast-check";
import type { Home } from "../../src/core/home.ts";
import { homeKey } from "../../src/core/item-keys.ts";
import { drawJobId } from "../../src/core/job-id.ts";
import { toJson } from "../../src/core/json.ts";

/** Kinds of values that several tests of properties use. */

/** The last instant that fits the pool's 13 digits of milliseconds. */
export const LAST = 9_999_999_999_999;

export const NOW = Date.UTC(2026, 2, 1, 9, 30, 15, 250);

export const time = fc.integer({ min: 0, max: LAST });
export const shards = fc.integer({ min: 1, max: 1024 });
export const topic = fc.stringMatching(/^[a-z0-9-]{1,50}$/);
export const key = fc
  .stringMatching(/^[A-Za-z0-9._~:@=+,-]{1,256}$/)
  .filter((text) => !/^\.{1,2}$/.test(text));

export const randomBytes = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => (count: number) => bytes.slice(0, count));

export function idAt(times: fc.Arbitrary<number>, most = 1024): fc.Arbitrary<string> {
  return fc
    .tuple(times, fc.integer({ min: 1, max: most }), randomBytes)
    .map(([at, count, random]) => drawJobId(at, count, random));
}

/** Any UTF-16 text, also with halves of surrogate pairs, characters that XML does not allow, controls and quotes. */
export const anyText = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 0xffff }) },
      { weight: 1, arbitrary: fc.integer({ min: 0xd800, max: 0xdfff }) },
      { weight: 1, arbitrary: fc.constantFrom(0xfffe, 0xffff, 0xfeff, 0, 0x22, 0x5c, 0x2028, 0x7f) },
    ),
    { maxLength: 20 },
  )
  .map((units) => String.fromCharCode(...units));

/** Text that SQS accepts in a message: the characters of XML 1.0 ("SendMessage", SQS API Reference). */
export const SQS_TEXT = /^[\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;

const names = fc.oneof(fc.constantFrom("__proto__", "constructor", "toString", ""), anyText);

export const json: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    anyText,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.array(fc.tuple(names, tie("value")), { maxLength: 5 }).map((members) => Object.fromEntries(members)),
  ),
})).value;

/** Homes as `enqueue` and `move` leave them, due at any of `times`. */
export function homeDueAt(times: fc.Arbitrary<number>, most = 1024): fc.Arbitrary<Home> {
  const optional = fc.record(
    {
      headers: fc.dictionary(fc.stringMatching(/^[a-z-]{1,9}$/), anyText, { maxKeys: 3 }),
      key,
      group: fc.constantFrom("a", "b", "[!"),
      maxAttempts: fc.integer({ min: 1, max: 100 }),
      expiresAfter: fc.integer({ min: 1, max: 86_400_000 }),
    },
    { requiredKeys: [] },
  );
  return fc
    .record({
      id: idAt(times, most),
      dueAt: times,
      revision: fc.nat(1000),
      attempt: fc.nat(99),
      body: json,
      optional,
    })
    .map(({ id, dueAt, revision, attempt, body, optional: { headers, ...rest } }) => ({
      ...homeKey(id),
      v: 1,
      id,
      topic: "t",
      body: toJson(body),
      state: "scheduled" as const,
      dueAt,
      wantedAt: dueAt,
      revision,
      attempt,
      createdAt: NOW,
      ...(headers ? { headers: { ...headers } } : {}),
      ...rest,
    }));
}
