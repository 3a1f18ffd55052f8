import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { messageOf, reasonOf } from "../../src/core/errors.ts";
import { describeThrown, splitPlace, truncateError } from "../../src/core/thrown.ts";

describe("the description of a thrown value", () => {
  test("is name, message, stack and causes of an error, and none of its other fields", () => {
    const cause = Object.assign(new TypeError("fetch failed"), { config: { authorization: "secret" } });
    const thrown = Object.assign(new Error("no bank", { cause }), { body: "secret" });
    const { stack, cause: reason, ...said } = describeThrown(thrown);
    expect(said).toEqual({ name: "Error", message: "no bank" });
    expect(stack).toBe(thrown.stack);
    expect(reason).toEqual({ name: "TypeError", message: "fetch failed", stack: cause.stack });
  });

  test("includes the first of several causes, and a cause that is not an error", () => {
    const several = new AggregateError([new Error("a"), new Error("b")], "all failed");
    expect(describeThrown(several).cause).toMatchObject({ message: "a" });
    expect(describeThrown(new Error("x", { cause: "closed" })).cause).toEqual({ message: "closed" });
  });

  test.each([
    ["text", "no", "no"],
    ["nothing", undefined, "undefined"],
    ["null", null, "null"],
    ["an object without a message, whose fields may be secrets", { code: 7 }, "an object without a message"],
    ["an object with a message", { message: "no", token: "secret" }, "no"],
  ])("is the text of %s", (_, thrown, message) => {
    expect(describeThrown(thrown)).toEqual({ message });
  });

  test.each([
    ["a cause that is no error", new Error("x", { cause: { body: "secret", status: 401 } })],
    [
      "the first of several causes",
      Object.assign(new Error("x"), { errors: [{ message: "not unique", row: "secret" }] }),
    ],
  ])("leaves out the fields of %s", (_, thrown) => {
    expect(JSON.stringify(describeThrown(thrown))).not.toContain("secret");
    expect(describeThrown(thrown).cause).toHaveProperty("message");
  });

  test("is the same for an error of another realm", () => {
    const thrown = runInNewContext('new TypeError("fetch failed", { cause: new Error("refused") })');
    expect(describeThrown(thrown)).toMatchObject({ message: "fetch failed", cause: { message: "refused" } });
    expect([messageOf(thrown), reasonOf(thrown)]).toEqual(["fetch failed", "refused"]);
  });

  test("has a message even if the error's name is not a string, or its errors are a revoked proxy", () => {
    const nameless = Object.assign(new Error(""), { name: 7 });
    expect(describeThrown(nameless)).toMatchObject({ message: "an error without a message" });
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    expect(describeThrown(Object.assign(new Error("x"), { errors: proxy }))).toMatchObject({ message: "x" });
  });

  test("ends where an error is its own cause", () => {
    const thrown = new Error("x");
    thrown.cause = thrown;
    expect(JSON.stringify(describeThrown(thrown)).match(/"message":"x"/g)).toHaveLength(9);
  });

  test("is short even if message and stack are huge, and keeps the frames", () => {
    const text = "y\n    at nowhere (/a.ts:1:1)\n".repeat(100_000);
    const said = describeThrown(new Error(text, { cause: new Error(text) }));
    expect(Buffer.byteLength(JSON.stringify(said))).toBeLessThan(40_000);
    expect(said.stack).toMatch(/\n +at .*thrown\.test\.ts:\d+:\d+/);
  });

  test.each(["name", "message", "stack", "cause", "errors"])(
    "leaves out a %s that cannot be read",
    (field) => {
      const get = () => {
        throw new Error("never");
      };
      const thrown = Object.defineProperty(new Error("x"), field, { get });
      expect(describeThrown(thrown)).toHaveProperty("message");
      expect(describeThrown(new Error("y", { cause: thrown })).cause).toHaveProperty("message");
    },
  );
});

describe("a job's error", () => {
  test("is shortened before the place in the source that it ends with", () => {
    expect(truncateError("no bank (pay.ts:3)", 14)).toBe("no  (pay.ts:3)");
    expect(truncateError("no bank (pay.ts:3)", 99)).toBe("no bank (pay.ts:3)");
    expect(truncateError("no bank", 2)).toBe("no");
    expect(truncateError("no bank (pay.ts:3)", 8)).toBe("no bank ");
  });

  test("has a place in the source only at its end", () => {
    expect(splitPlace("no (pay.ts:3)")).toEqual(["no", " (pay.ts:3)"]);
    for (const text of ["", "no", "no (pay.ts:3) bank", "no (pay)", "(pay.ts:3)"])
      expect(splitPlace(text)).toEqual([text, ""]);
  });
});
