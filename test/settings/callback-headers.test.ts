import { describe, expect, it } from "vitest";
import { callbackHeadersError, forwardedHeaders } from "../../src/settings/callback-headers.ts";

const OURS = [
  "host",
  "Host",
  "content-length",
  "Content-Type",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "upgrade",
  "expect",
  "proxy-authorization",
  "Webhook-Id",
  "webhook-signature",
  "minutehand-attempt",
  "user-agent",
];

describe("the headers of a webhook call", () => {
  it.each(OURS)("must not have the name %s", (name) => {
    expect(callbackHeadersError({ [name]: "x" })).toBe(
      `${name} must be absent, because HTTP or the call sets it`,
    );
  });

  it.each(["é", "a\tb", "a\nb", " a", "a ", "\u007f", "\u{1f600}"])("must not have the value %j", (value) => {
    expect(callbackHeadersError({ "x-shop": value })).toContain("x-shop must be printable ASCII");
  });

  it("must not have one name twice", () => {
    expect(callbackHeadersError({ "x-shop": "1", "X-Shop": "2" })).toContain(
      "X-Shop must be there only once",
    );
  });

  it("may have names and values that receivers commonly need", () => {
    const headers = { traceparent: "00-1-2-01", Authorization: "Bearer a b", "x-empty": "", "x-tilde": "~!" };
    expect(callbackHeadersError(headers)).toBeUndefined();
  });

  it("leave out what a job has that was filed under other rules", () => {
    expect(forwardedHeaders({ Host: "x", "X-Shop": "7", "x-name": "é", "webhook-id": "1" })).toEqual({
      "x-shop": "7",
    });
  });
});
