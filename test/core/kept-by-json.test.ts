import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonOf } from "../../src/client/call.ts";
import { json } from "../properties/kinds.ts";
import { property } from "../properties/property.ts";

class Money {
  amount = 1;
  plus(): number {
    return this.amount + 1;
  }
}

describe("a request", () => {
  test.each<[string, unknown, string]>([
    ["NaN", { n: Number.NaN }, "body.n must be a value that JSON keeps, got NaN"],
    ["Infinity", [1, { n: -Infinity }], "body.1.n must be a value that JSON keeps, got -Infinity"],
    [
      "an invalid Date",
      { at: new Date(Number.NaN) },
      "body.at must be a value that JSON keeps, got an invalid Date",
    ],
    [
      "an invalid time of a library",
      { at: { toJSON: () => null, valueOf: () => Number.NaN } },
      "body.at must be a value that JSON keeps, got an invalid Date",
    ],
    [
      "an invalid Date of another realm",
      runInNewContext("({ at: new Date(NaN) })"),
      "body.at must be a value that JSON keeps, got an invalid Date",
    ],
    ["a Map", { m: new Map([["a", 1]]) }, "body.m must be a value that JSON keeps, got a Map"],
    [
      "a Map of another realm",
      runInNewContext("new Map()"),
      "body must be a value that JSON keeps, got a Map",
    ],
    ["a Set", new Set([1]), "body must be a value that JSON keeps, got a Set"],
    ["a WeakMap", new WeakMap(), "got a WeakMap"],
    ["a bigint", { id: 9007199254740993n }, "body.id must be a value that JSON keeps, got a bigint"],
    ["a function", { f() {} }, "body.f must be a value that JSON keeps, got a function"],
    ["a class", Money, "body must be a value that JSON keeps, got a function"],
    ["a symbol", { s: Symbol("a") }, "body.s must be a value that JSON keeps, got a symbol"],
    [
      "a symbol as a name",
      { a: { [Symbol("b")]: 1 } },
      "body.a must be a value that JSON keeps, got an object with the name Symbol(b)",
    ],
    [
      "undefined in an array",
      { a: [1, undefined] },
      "body.a.1 must be a value that JSON keeps, got undefined",
    ],
    // biome-ignore lint/suspicious/noSparseArray: it is what the test is about
    ["a hole in an array", [1, , 3], "body.1 must be a value that JSON keeps, got undefined"],
    ["bytes", { b: new Uint8Array([1, 2]) }, "body.b must be a value that JSON keeps, got a Uint8Array"],
    ["an ArrayBuffer", new ArrayBuffer(1), "got an ArrayBuffer"],
    ["a RegExp", /x/, "got a RegExp"],
    ["an Error", { e: new TypeError("e") }, "body.e must be a value that JSON keeps, got an Error"],
    ["a Promise", { p: Promise.resolve(1) }, "body.p must be a value that JSON keeps, got a Promise"],
    ["search parameters", new URLSearchParams("a=1"), "got a URLSearchParams"],
    [
      "what toJSON answers",
      { toJSON: () => ({ n: [Number.NaN] }) },
      "body.n.0 must be a value that JSON keeps, got NaN",
    ],
  ])("with %s is refused, and the error names the path", (_, body, message) => {
    expect(() => jsonOf({ topic: "t", body })).toThrow(
      expect.objectContaining({ code: "bad-request", message: expect.stringContaining(message) }),
    );
  });

  const shared = { a: 1 };
  test.each<[string, unknown, string]>([
    ["a Date", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["-0, which equals 0", { n: -0 }, '{"n":0}'],
    ["a field that is undefined", { a: undefined, b: 1 }, '{"b":1}'],
    ["null", { a: null }, '{"a":null}'],
    ["an instance of a class, as its fields", new Money(), '{"amount":1}'],
    ["toJSON", { price: { toJSON: () => "1.50" } }, '{"price":"1.50"}'],
    ["a Buffer, by its toJSON", Buffer.from("hi"), '{"type":"Buffer","data":[104,105]}'],
    ["a URL, by its toJSON", { u: new URL("http://a.example/") }, '{"u":"http://a.example/"}'],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ["an object of another realm", runInNewContext("({ a: [1] })"), '{"a":[1]}'],
    ["an object twice", [shared, shared], '[{"a":1},{"a":1}]'],
    ["a whole number that a double holds", 9007199254740992, "9007199254740992"],
  ])("with %s is sent", (_, body, text) => {
    expect(jsonOf({ body })).toBe(`{"body":${text}}`);
  });

  test("with a circular structure is refused", () => {
    const circle: Record<string, unknown> = {};
    Object.assign(circle, { a: circle, b: [circle, circle] });
    expect(() => jsonOf({ body: circle })).toThrow("the request must be a value that JSON can represent: ");
  });

  const place = fc.array(fc.constantFrom("list", "object"), { maxLength: 8 });
  property(
    "of JSON is always sent, and refused with one value that JSON alters",
    [json, place],
    (value, places) => {
      expect(jsonOf({ body: value })).toBe(JSON.stringify({ body: value }));
      const wrap = (inner: unknown) =>
        places.reduce((at: unknown, kind) => (kind === "list" ? [value, at] : { value, at }), inner);
      expect(jsonOf({ body: wrap(value) })).toBe(JSON.stringify({ body: wrap(value) }));
      const path = ["body", ...places.map((kind) => (kind === "list" ? "1" : "at")).reverse()].join(".");
      expect(() => jsonOf({ body: wrap(new Map()) })).toThrow(
        `${path} must be a value that JSON keeps, got a Map`,
      );
    },
  );
});
