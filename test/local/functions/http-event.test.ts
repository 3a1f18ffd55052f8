import { expect, test } from "vitest";
import { decodePath, type HttpRequest, httpEvent } from "../../../local/functions/http-event.ts";

const PLACE = {
  routeKey: "$default",
  pathParameters: {},
  requestId: "r",
  now: Date.UTC(2026, 2, 12, 19, 3, 58),
  account: "0",
};
const REQUEST: HttpRequest = {
  method: "POST",
  url: "/jobs/a%20b?x=1&y=%20&x=2",
  headers: { host: "here", "content-type": "application/json", cookie: "a=1; b=2", "set-cookie": ["c", "d"] },
  sourceIp: "127.0.0.1",
  body: Buffer.from('{"ü":1}'),
};

test("a request becomes an event of payload format 2.0", () => {
  expect(httpEvent(REQUEST, PLACE)).toMatchObject({
    version: "2.0",
    routeKey: "$default",
    rawPath: "/jobs/a b",
    rawQueryString: "x=1&y=%20&x=2",
    queryStringParameters: { x: "1,2", y: " " },
    cookies: ["a=1", "b=2"],
    headers: { host: "here", "set-cookie": "c,d" },
    requestContext: {
      http: { method: "POST", path: "/jobs/a b", sourceIp: "127.0.0.1" },
      time: "12/Mar/2026:19:03:58 +0000",
    },
    body: '{"ü":1}',
    isBase64Encoded: false,
  });
});

test.each([
  ["a form", "application/x-www-form-urlencoded", Buffer.from("a=1")],
  ["a body without a type", undefined, Buffer.from("a")],
  ["text that is no UTF-8", "text/plain", Buffer.from([0xff])],
])("%s goes as base64", (_, type, body) => {
  const event = httpEvent({ ...REQUEST, headers: type ? { "content-type": type } : {}, body }, PLACE);
  expect(event).toMatchObject({ isBase64Encoded: true, body: body.toString("base64") });
});

test("parts that the request does not have are left out", () => {
  const event = httpEvent({ ...REQUEST, url: "/", headers: {}, body: Buffer.alloc(0) }, PLACE);
  expect(event.rawQueryString).toBe("");
  for (const name of ["body", "cookies", "queryStringParameters", "pathParameters"])
    expect(event).not.toHaveProperty(name);
});

test("a malformed path is not decoded", () => {
  expect(decodePath("/%zz?a")).toBeUndefined();
});
