import { expect, test } from "vitest";
import type { Outcome } from "../../../local/functions/execution-environment.ts";
import { httpAnswer } from "../../../local/functions/http-answer.ts";

const error = { errorType: "Error", errorMessage: "no" };

test.each<[string, Outcome, number]>([
  ["a thrown error", { outcome: "threw", error }, 500],
  ["a crash", { outcome: "crashed", error }, 500],
  ["a timeout", { outcome: "timed-out", error }, 503],
  ["an event above Lambda's limit", { outcome: "too-large", error }, 413],
  ["an impossible status", { outcome: "returned", payload: '{"statusCode":9999}' }, 500],
  ["an answer without a status", { outcome: "returned", payload: '{"a":1}' }, 200],
  ["no answer", { outcome: "returned", payload: "null" }, 200],
])("%s", (_, outcome, status) => {
  expect(httpAnswer(outcome).status).toBe(status);
});

test("status, headers, cookies and body are the function's", () => {
  const payload = JSON.stringify({
    statusCode: 201,
    headers: { Location: "/jobs/1", "Content-Length": "99" },
    cookies: ["a=1", "b=2"],
    body: Buffer.from("hi").toString("base64"),
    isBase64Encoded: true,
  });
  expect(httpAnswer({ outcome: "returned", payload })).toEqual({
    status: 201,
    headers: {
      "content-type": "text/plain;charset=UTF-8",
      location: "/jobs/1",
      "set-cookie": ["a=1", "b=2"],
    },
    body: Buffer.from("hi"),
  });
});
