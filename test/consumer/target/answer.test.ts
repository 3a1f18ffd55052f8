import { describe, expect, it } from "vitest";
import { endingOf } from "../../../src/consumer/target/answer.ts";

const HOUR = 3_600_000;
const bytes = (text: string) => Buffer.from(text);
const answered = (answer: unknown, job: { untracked?: true } = {}) =>
  endingOf({ payload: bytes(JSON.stringify(answer)) }, job);
const failed = (payload: string) => endingOf({ payload: bytes(payload), functionError: "Unhandled" }, {});

describe("an answer", () => {
  it.each([
    null,
    true,
    0,
    "retryIn",
    ["bury"],
    {},
    { statusCode: 500 },
    // Java and Go write the fields that are not set.
    { retryIn: null, bury: null },
    { retryIn: "", bury: "" },
    { retryIn: 0, bury: "" },
  ])("of %j is a success", (answer) => {
    expect(answered(answer)).toEqual({ end: "done" });
  });

  it.each([[""], ["not json"], [`{"bury":"${"x".repeat(65_536)}"}`]])(
    "that is no JSON, or is longer than 64 KiB, is a success: %.10s",
    (text) => {
      expect(endingOf({ payload: bytes(text) }, {})).toEqual({ end: "done" });
    },
  );

  it.each([
    ["30s", 30_000],
    ["1h", HOUR],
    [90, 90_000],
    [1, 1000],
  ])("with retryIn %j runs the job again then, and counts no attempt", (retryIn, wait) => {
    expect(answered({ retryIn, bury: null })).toEqual({ end: "retry-in", wait });
  });

  it("with a reason buries the job, whatever else it asks for", () => {
    expect(answered({ bury: "the bank\nknows no\tsuch refund", retryIn: "1m" })).toEqual({
      end: "buried",
      error: "the bank knows no such refund",
    });
    expect(answered({ bury: "x".repeat(1000) })).toEqual({ end: "buried", error: "x".repeat(256) });
  });

  it.each([
    [{ retryIn: 0.5 }, "the answer's retryIn takes seconds (1 or more)", "got 0.5"],
    [{ retryIn: "0s" }, "retryIn takes seconds", 'got "0s"'],
    [{ bury: 0 }, "the answer's bury takes a text", "got 0"],
    [{ retryIn: "500ms" }, "retryIn takes seconds", 'got "500ms"'],
    [{ retryIn: "soon" }, "retryIn takes seconds", 'got "soon"'],
    [{ retryIn: { seconds: 5 } }, "retryIn takes seconds", 'got {"seconds":5}'],
    [{ retryIn: "4000d" }, "at most ten years", 'got "4000d"'],
    [{ bury: true }, "the answer's bury takes a text", "got true"],
  ])("of %j is a failed attempt, whose error says the rule", (answer, rule, given) => {
    const ending = answered(answer);
    expect(ending).toMatchObject({ end: "failed", error: expect.stringContaining(rule) });
    expect(ending).toMatchObject({ error: expect.stringContaining(given) });
  });

  it("lets an untracked job wait for 7 days at most", () => {
    expect(answered({ retryIn: "7d" }, { untracked: true })).toEqual({ end: "retry-in", wait: 168 * HOUR });
    expect(answered({ retryIn: "8d" }, { untracked: true })).toMatchObject({
      end: "failed",
      error: expect.stringContaining("at most 7 days, as the job is untracked"),
    });
  });
});

describe("an error of the function", () => {
  it.each([
    [
      '{"errorMessage":"width must be\\nmore than 0","errorType":"ValueError","stackTrace":["x"]}',
      "ValueError: width must be more than 0",
    ],
    ['{"errorMessage":"Task timed out after 3.00 seconds"}', "Task timed out after 3.00 seconds"],
    ['{"errorType":"Runtime.ExitError"}', "Runtime.ExitError"],
    ["", "Unhandled:"],
    ["{broken", "Unhandled: {broken"],
    ['{"bury":"no"}', 'Unhandled: {"bury":"no"}'],
  ])("is a failed attempt with its type and its message: %s", (payload, error) => {
    expect(failed(payload)).toEqual({ end: "failed", error });
  });

  it("is bounded", () => {
    const ending = failed(JSON.stringify({ errorType: "E", errorMessage: "é".repeat(3_000_000) }));
    expect(ending).toMatchObject({
      end: "failed",
      error: expect.stringMatching(/^Unhandled: \{"errorType"/),
    });
    expect(Buffer.byteLength((ending as { error: string }).error)).toBeLessThanOrEqual(256);
  });
});
