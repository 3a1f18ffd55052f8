import fc from "fast-check";
import { describe, expect } from "vitest";
import { BODY_DEPTH } from "../../src/core/constants.ts";
import { MinutehandError } from "../../src/core/errors.ts";
import { isExact, parseJson, toJson } from "../../src/core/json.ts";
import { truncate } from "../../src/general/text.ts";
import { anyText, json, SQS_TEXT } from "./kinds.ts";
import { property } from "./property.ts";

/** The decimal number that a JSON token names, as `digits` times ten to the `exponent`. */
function decimalOf(token: string): { digits: bigint; exponent: number } {
  const [mantissa = "", exponent = "0"] = token.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** A double as the fraction of two whole numbers. */
function fractionOf(value: number): { top: bigint; bottom: bigint } {
  let [whole, halvings] = [Math.abs(value), 0];
  // Exact: a double of at least 2 to the 52 is whole.
  while (whole < 2 ** 52 && whole !== 0) [whole, halvings] = [whole * 2, halvings + 1];
  return { top: BigInt(whole), bottom: 2n ** BigInt(halvings) };
}

/** Says by exact arithmetic whether a token has at most 17 digits and is its double, rounded to these digits; a half up or to the even digit. */
function isPrinted(token: string): boolean {
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  let { digits, exponent } = decimalOf(token.replace(/^-/, ""));
  if (digits === 0n) return true;
  while (digits % 10n === 0n) [digits, exponent] = [digits / 10n, exponent + 1];
  if (String(digits).length > 17 || value === 0) return false;
  const { top, bottom } = fractionOf(value);
  const [up, down] = exponent > 0 ? [10n ** BigInt(exponent), 1n] : [1n, 10n ** BigInt(-exponent)];
  const apart = digits * up * bottom - top * down;
  const half = up * bottom;
  return 2n * apart > -half ? 2n * apart <= half : 2n * apart === -half && digits % 2n === 0n;
}

const double = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  // Many of these lie halfway between two numbers of 15 to 17 digits.
  fc.tuple(fc.maxSafeInteger(), fc.nat(9)).map(([whole, halvings]) => whole / 2 ** halvings),
  fc.maxSafeInteger().map((whole) => whole * 1024),
);

/** As `%g` of C, Go, Python and PHP prints a double, and `Double.toString` of Java. */
const printed = fc
  .tuple(double, fc.integer({ min: 1, max: 17 }), fc.constantFrom("C", "Java", "JavaScript"))
  .map(([value, digits, language]) => {
    // As other languages print it.
    if (Object.is(value, -0)) return "-0.0";
    if (language === "C") return value.toPrecision(digits).replace(/e([+-])(\d)$/, "e$10$2");
    const shortest = JSON.stringify(value);
    return language === "Java" ? value.toExponential().replace(/e\+?/, "E") : shortest;
  });

const number = fc.oneof(
  printed,
  fc.stringMatching(/^-?(?:0|[1-9]\d{0,24})(?:\.\d{1,24})?(?:[eE][+-]?\d{1,3})?$/),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc
    .tuple(fc.double({ noNaN: true, min: -1, max: 1 }), fc.nat(9))
    .map(([value, digit]) =>
      JSON.stringify(value).includes("e")
        ? "1"
        : `${JSON.stringify(value)}${JSON.stringify(value).includes(".") ? digit : ""}`,
    ),
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 56n }).map(String),
  fc.integer({ min: -400, max: 400 }).map((exponent) => `1e${exponent}`),
);

describe("JSON text", () => {
  property("comes back as the value it was made of", [json], (value) => {
    expect(toJson(parseJson(toJson(value)))).toBe(toJson(value));
    expect(parseJson(toJson(value))).toEqual(value);
  });

  property("has only characters that SQS takes", [json], (value) => {
    expect(toJson(value)).toMatch(SQS_TEXT);
  });

  property("means the same to any JSON reader", [json], (value) => {
    expect(JSON.stringify(JSON.parse(toJson(value)))).toBe(JSON.stringify(value));
  });

  property("has its numbers read as the double that prints them, or refused", [number], (token) => {
    const kept = isPrinted(token);
    expect(isExact(token)).toBe(kept);
    const text = `{"a":[${token}]}`;
    if (kept) expect(parseJson(text)).toEqual({ a: [Number(token)] });
    else
      expect(() => parseJson(text)).toThrow(
        "a number must be one that a double prints with at most 17 digits",
      );
  });

  property("keeps each number that was printed from a double with 17 digits", [double], (value) => {
    for (const text of [value.toPrecision(17), value.toExponential(16), JSON.stringify(value)])
      expect(parseJson(`[${text}]`)).toEqual([value]);
  });

  property("keeps the digits in its strings unchanged", [number, anyText], (token, text) => {
    const value = { [`${token}"`]: `${text}\\"${token}`, [token]: [token] };
    expect(parseJson(JSON.stringify(value))).toEqual(value);
  });

  const edits = fc.array(
    fc.tuple(fc.nat(200), fc.constantFrom("", '"', "\\", "{", "]", ",", ":", "1", "e", "-", "\u0000", " ")),
    { maxLength: 3 },
  );
  property("is read as JSON.parse reads it, or refused as a bad request", [json, edits], (value, changes) => {
    let text = toJson(value);
    for (const [at, part] of changes) text = text.slice(0, at) + part + text.slice(at + 1);
    let read: unknown;
    try {
      read = parseJson(text);
    } catch (error) {
      expect(error).toMatchObject({ name: "MinutehandError", code: "bad-request" });
      return;
    }
    expect(read).toEqual(JSON.parse(text));
  });

  const brackets = fc.array(fc.constantFrom("[", '{"a":'), {
    minLength: BODY_DEPTH - 3,
    maxLength: BODY_DEPTH + 3,
  });
  property("is refused if and only if it is nested too deep", [brackets, anyText], (opening, text) => {
    const closing = opening.map((open) => (open === "[" ? "]" : "}")).reverse();
    const nested = `${opening.join("")}${JSON.stringify(`[[${text}"[{`)}${closing.join("")}`;
    if (opening.length <= BODY_DEPTH) expect(JSON.stringify(parseJson(nested))).toBe(nested);
    else expect(() => parseJson(nested)).toThrow(MinutehandError);
  });
});

describe("cut text", () => {
  const bytes = fc.nat(40);

  property("is the beginning of the text, in whole characters of UTF-8", [anyText, bytes], (text, most) => {
    const cut = truncate(text, most);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(most);
    expect(cut.isWellFormed()).toBe(true);
    expect(text.toWellFormed().startsWith(cut)).toBe(true);
  });

  property("is so long that one character more would be too long", [anyText, bytes], (text, most) => {
    const cut = truncate(text, most);
    const [next] = text.toWellFormed().slice(cut.length);
    expect(next === undefined || Buffer.byteLength(cut + next) > most).toBe(true);
  });

  property("is cut no further by a second cut", [anyText, bytes], (text, most) => {
    expect(truncate(truncate(text, most), most)).toBe(truncate(text, most));
  });
});
