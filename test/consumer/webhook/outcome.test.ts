import { describe, expect, it } from "vitest";
import { oneLineError } from "../../../src/consumer/error-text.ts";
import { outcomeOf } from "../../../src/consumer/webhook/outcome.ts";

const NOW = Date.UTC(2026, 2, 1, 9, 0, 0);
const DAY = 86_400_000;
const answered = (status: number, retryAfter?: string, body = "", attempt = 1) =>
  outcomeOf({ status, body, ...(retryAfter === undefined ? {} : { retryAfter }) }, attempt, NOW);

describe("an answer", () => {
  it.each([200, 201, 202, 204, 299])("of %i is done", (status) => {
    expect(answered(status, "60", "thanks")).toEqual({ end: "done" });
  });

  it("of 410 buries the job", () => {
    expect(answered(410, "60", "no such hook")).toEqual({ end: "buried", error: "HTTP 410: no such hook" });
  });

  it.each([301, 302, 303, 307, 308])("of %i fails, as redirects are not followed", (status) => {
    const error = `HTTP ${status}: redirects are not followed`;
    expect(answered(status, undefined, "moved")).toEqual({ end: "failed", error });
  });

  it.each([304, 400, 401, 404, 408, 500, 502, 504, 599])(
    "of %i fails, and its Retry-After is ignored",
    (status) => {
      expect(answered(status, "60", "no")).toEqual({ end: "failed", error: `HTTP ${status}: no` });
    },
  );

  it.each([
    [
      "<!doctype html>\n<html lang=en>\n  <head>\n    <title>KeyError: &#39;width&#39;\n // Werkzeug Debugger</title>\n<style>",
      "KeyError: 'width' // Werkzeug Debugger",
    ],
    ["<HTML><style>p { color: red }</style><h1>Bad Gateway</h1><p>a &lt; b</p><scri", "Bad Gateway a < b"],
    ["<html><title></title><script>let a = 1;", ""],
    ["<xml>no</xml>", "<xml>no</xml>"],
  ])("that is an HTML page says its title, or else its text: %j", (body, text) => {
    expect(answered(500, undefined, body)).toMatchObject({
      error: text === "" ? "HTTP 500" : `HTTP 500: ${text}`,
    });
  });

  it("without a body says its status", () => {
    expect(answered(500)).toEqual({ end: "failed", error: "HTTP 500" });
  });
});

describe("Retry-After", () => {
  it.each([429, 503])("of a %i says when the job runs again, in seconds or as a date", (status) => {
    expect(answered(status, "120")).toMatchObject({ end: "failed", retryAfter: 120_000 });
    expect(answered(status, "Sun, 01 Mar 2026 09:30:00 GMT")).toMatchObject({ retryAfter: 1_800_000 });
  });

  it("sets the time of three retries, and later only sets the earliest time", () => {
    expect(answered(429, "1", "", 3)).toMatchObject({ retryAfter: 1000 });
    const error = "HTTP 429";
    expect(answered(429, "1", "", 4)).toEqual({ end: "failed", error, notBefore: 1000 });
  });

  it("puts a job off for a day at most", () => {
    expect(answered(503, "86401")).toMatchObject({ retryAfter: DAY });
    expect(answered(503, "9".repeat(400))).toMatchObject({ retryAfter: DAY });
    expect(answered(503, "Mon, 01 Mar 2027 09:00:00 GMT")).toMatchObject({ retryAfter: DAY });
  });

  it.each(["Sun, 01 Mar 2026 09:30:00 GMT", "Sunday, 01-Mar-26 09:30:00 GMT", "Sun Mar  1 09:30:00 2026"])(
    "is read in each form of RFC 9110: %j",
    (date) => {
      expect(answered(503, date)).toMatchObject({ end: "failed", retryAfter: 1_800_000 });
    },
  );

  it.each([
    "0",
    "000",
    "1",
    "Sun, 01 Mar 2026 08:00:00 GMT",
    "Sunday, 01-Mar-26 08:59:59 GMT",
    "Tue Mar  1 09:00:00 1994",
  ])("of %j asks for a retry at once, which comes after a second", (retryAfter) => {
    expect(answered(429, retryAfter)).toMatchObject({ end: "failed", retryAfter: 1000 });
    expect(answered(429, retryAfter, "", 4)).toMatchObject({ end: "failed", notBefore: 1000 });
  });

  it("in the form of RFC 850 has a year at most 50 years ahead", () => {
    expect(answered(503, "Sunday, 01-Mar-76 09:30:00 GMT")).toMatchObject({ retryAfter: DAY });
    expect(answered(503, "Tuesday, 01-Mar-77 09:30:00 GMT")).toMatchObject({ retryAfter: 1000 });
  });

  it.each([
    ...["-5", "soon", "", "1.5", "+5", "2026-03-01T09:30:00Z", "1, 2", "Sun Mar 1 09:30:00 2026"],
    ...["Xyz, 99 Mar 2026 09:30:00 GMT", "Sun, 31 Feb 2026 09:30:00 GMT", "Sun, 01 Mar 2026 24:30:00 GMT"],
    ...["Sun, 01 Mrz 2026 09:30:00 GMT", "Sun, 01 Mar 2026 09:30:00 CET", "Sun, 1 Mar 2026 09:30:00 GMT"],
  ])("of %j asks for nothing, so that the topic's backoff decides", (retryAfter) =>
    expect(answered(429, retryAfter)).toEqual({ end: "failed", error: "HTTP 429" }),
  );
});

describe("a receiver's words", () => {
  it("are kept on one line, without control characters", () => {
    expect(oneLineError("no\r\n\u001b[31mway\u0000\u2028 \u202eout ")).toBe("no [31mway out");
  });

  it("are kept up to 256 bytes, whole characters only", () => {
    expect(oneLineError("é".repeat(200))).toBe("é".repeat(128));
  });
});
