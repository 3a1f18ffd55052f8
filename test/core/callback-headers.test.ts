import { describe, expect, it } from "vitest";
import { callbackHeadersError, forwardedHeaders } from "../../core/callback-headers.ts";

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

describe("headers that go with a call", () => {
  it.each(OURS)("%s is not one of them", (name) => {
    expect(callbackHeadersError({ [name]: "x" })).toBe(
      `${name} must be absent, because HTTP or the call sets it`,
    );
  });

  it.each(["é", "a\tb", "a\nb", " a", "a ", "\u007f", "\u{1f600}"])("have no value such as %j", (value) => {
    expect(callbackHeadersError({ "x-shop": value })).toContain("x-shop must be printable ASCII");
  });

  it("are there once", () => {
    expect(callbackHeadersError({ "x-shop": "1", "X-Shop": "2" })).toContain(
      "X-Shop must be there only once",
    );
  });

  it("may be what receivers ask for", () => {
    const headers = { traceparent: "00-1-2-01", Authorization: "Bearer a b", "x-empty": "", "x-tilde": "~!" };
    expect(callbackHeadersError(headers)).toBeUndefined();
  });

  it("are all that is left of a job's that was filed under other rules", () => {
    expect(forwardedHeaders({ Host: "x", "X-Shop": "7", "x-name": "é", "webhook-id": "1" })).toEqual({
      "x-shop": "7",
    });
  });
});
