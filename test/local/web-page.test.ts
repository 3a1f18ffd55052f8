import type { IncomingHttpHeaders } from "node:http";
import { expect, test } from "vitest";
import { refusalOfWebPage } from "../../local/web-page.ts";

test.each([
  { host: "127.0.0.1:4500" },
  { host: "localhost" },
  { host: "LOCALHOST:80" },
  { host: "[::1]:4500" },
  { host: "127.9.8.7:1" },
  { host: "localhost:4500", origin: "http://localhost:4500", "sec-fetch-site": "same-origin" },
  { host: "localhost:4500", "sec-fetch-site": "none" },
])("%j is answered", (headers) => {
  expect(refusalOfWebPage(headers)).toBeUndefined();
});

test.each<[string, IncomingHttpHeaders]>([
  ["Host", {}],
  ["Host", { host: "evil.example" }],
  ["Host", { host: "localhost.evil.example" }],
  ["Host", { host: "127.0.0.1.evil.example:4500" }],
  ["Host", { host: "127.evil.example" }],
  ["Host", { host: "169.254.169.254" }],
  ["Host", { host: "evil@localhost" }],
  ["Origin", { host: "localhost:4500", origin: "https://evil.example" }],
  ["Origin", { host: "localhost:4500", origin: "https://localhost:4500" }],
  ["Origin", { host: "localhost:4500", origin: "http://localhost:4501" }],
  ["Origin", { host: "localhost:4500", origin: "null" }],
  ["Origin", { host: "localhost:4500", origin: "" }],
  ["Sec-Fetch-Site", { host: "localhost:4500", "sec-fetch-site": "cross-site" }],
  ["Sec-Fetch-Site", { host: "localhost:4500", "sec-fetch-site": "same-site" }],
])("by its %s, %j is refused", (header, headers) => {
  expect(refusalOfWebPage(headers)).toMatch(
    new RegExp(`^the header ${header} must be .+, got ".*": web pages`),
  );
});
