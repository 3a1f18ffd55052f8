import { describe, expect, it } from "vitest";
import { BODY_DEPTH } from "../../src/core/constants.ts";
import { isExact, parseJson, toJson } from "../../src/core/json.ts";

describe("numbers", () => {
  it.each([
    "0",
    "1",
    "1.0",
    "0.1",
    "1e3",
    "1E+3",
    "-1e-5",
    "9007199254740991",
    "0.30000000000000004",
    "1.50e2",
  ])("%s is the same number as a double", (token) => {
    expect(isExact(token)).toBe(true);
  });

  // Each text was printed by that language from a double.
  it.each([
    ["Python's repr", "1.1102230246251565e-16"],
    ["Python's %.17g", "0.10000000000000001"],
    ["Python's %.17g of a half, rounded to the even digit", "90882275745033.062"],
    ["Java 17's Double.toString", "2.0E-3"],
    ["Java 17's Double.toString of the least double", "4.9E-324"],
    ["Java 17's Double.toString, one digit more than needed", "2.2250738585072014E-308"],
    ["Java 17's Double.toString of a half, rounded to the even digit", "6.020303405324642E14"],
    ["Java 17's BigDecimal of a double", "0.000099999999999999"],
    ["Go's strconv with 'g' and 17 digits", "1.0000000000000001e-05"],
    ["Go's strconv of a large whole number", "90071992547409936"],
    ["C#'s G17", "1.7976931348623157E+308"],
    ["C#'s R", "1E-05"],
    ["PHP with serialize_precision 17", "19.989999999999998"],
    ["C's %.15g", "0.333333333333333"],
  ])("of %s are taken: %s", (_, token) => {
    expect(isExact(token)).toBe(true);
    expect(parseJson(`{"n":[${token},-${token}]}`)).toEqual({ n: [Number(token), -Number(token)] });
  });

  it.each([
    "9007199254740993",
    "90071992547409937",
    "18014398509481985",
    "1234567890123456768",
    "12345678901234567890",
    "1234567890123456.7",
    "0.10000000000000004",
    "0.100000000000000006",
    "1e400",
    "-1e400",
    "0.1000000000000000055511151231257827",
    "3.14159265358979323846",
    "1e-400",
  ])("%s is another number as a double, and is refused", (token) => {
    expect(isExact(token)).toBe(false);
    expect(() => parseJson(`{"n":${token}}`)).toThrow(
      /a number must be one that a double prints with at most 17 digits/,
    );
  });

  it.each(["-0", "-0.0", "-0e5", "-0.000000000000000000"])("%s is 0, as the client sends -0", (token) => {
    expect(isExact(token)).toBe(true);
    expect(toJson(parseJson(`{"n":${token}}`))).toBe('{"n":0}');
  });

  it("digits inside a string are text", () => {
    expect(parseJson('{"n":"12345678901234567890","q":"a\\"9007199254740993"}')).toEqual({
      n: "12345678901234567890",
      q: 'a"9007199254740993',
    });
  });
});

describe("JSON that parsing would alter", () => {
  it.each([
    ['{"a":1,"a":1}', "a: an object must have each name at most once, got this name twice"],
    ['{"body":{"b":[{},{"c":1,"\\u0063":2}]}}', "body.b.1.c: an object must have each name at most once"],
    ['{"__proto__":1,"__proto__":2}', "__proto__: an object must have each name at most once"],
    [
      '{"jobs":[{"n":1},{"body":[1,[1e400]]}]}',
      "jobs.1.body.1.0: a number must be one that a double prints with at most 17 digits",
    ],
    [
      '{"delay":9007199254740993}',
      "delay: a number must be one that a double prints with at most 17 digits, got 9007199254740993; send it as a string",
    ],
    ["1e400", "the request: a number must be one that a double prints with at most 17 digits"],
  ])("%s is refused, and the error names the path", (text, message) => {
    expect(() => parseJson(text)).toThrow(message);
  });

  it.each(['{"a":{"a":1},"b":{"a":1}}', '[{"a":1},{"a":1}]', '{"a":"a","b":"a,\\"a\\":"}', "-0.5", "-1e-5"])(
    "is not found in %s",
    (text) => {
      expect(parseJson(text)).toEqual(JSON.parse(text));
    },
  );

  it("is found in a large request as well", () => {
    const list = JSON.stringify(Array.from({ length: 100_000 }, (_, n) => ({ n })));
    expect(parseJson(list)).toHaveLength(100_000);
    expect(() => parseJson(`${list.slice(0, -2)},"n":1}]`)).toThrow(
      "99999.n: an object must have each name at most once",
    );
    expect(() => parseJson(JSON.stringify("\\".repeat(1_500_000)))).not.toThrow();
  });
});

describe("text", () => {
  it("characters that SQS refuses are escaped, and parsing gives them back", () => {
    const value = "a\ufffe\uffff\ud800b\u0001";
    const json = toJson(value);
    expect(json).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(json)).toBe(value);
  });

  it("text that is not JSON is refused", () => {
    for (const text of ["", "{", "nul", "{'a':1}", "[1,]", "\u0000"]) {
      expect(() => parseJson(text)).toThrow(/the request must be JSON/);
    }
  });

  it("nesting is bounded, and brackets in strings do not count", () => {
    expect(() => parseJson("[".repeat(BODY_DEPTH) + "]".repeat(BODY_DEPTH))).not.toThrow();
    expect(() => parseJson("[".repeat(200_000))).toThrow(/nested/);
    expect(() => parseJson(JSON.stringify(`\\"${"[".repeat(500)}`))).not.toThrow();
  });
});
