import fc from "fast-check";
import { describe, expect } from "vitest";
import { decodePath, httpEvent } from "../../local/functions/http-event.ts";
import { matchRoute, parseRoute } from "../../local/functions/routes.ts";
import type { App } from "../../src/http/app.ts";
import { serveEvents } from "../../src/http/lambda.ts";
import type { HttpRequest } from "../../src/http/route.ts";
import { key, topic } from "./kinds.ts";
import { property } from "./property.ts";

const PLACE = { routeKey: "$default", pathParameters: {}, requestId: "r", now: 0, account: "0" };

type Sent = {
  method?: string;
  url: string;
  headers?: Record<string, string>;
  body?: Buffer;
  /** Whether the gateway passes the path on as it was sent. API Gateway decodes the path. */
  asSent?: boolean;
};

async function arrived({
  method = "POST",
  url,
  headers = {},
  body = Buffer.alloc(0),
  asSent = false,
}: Sent): Promise<HttpRequest> {
  const decoded = httpEvent({ method, url, headers, sourceIp: "127.0.0.1", body }, PLACE);
  const event = asSent ? { ...decoded, rawPath: url.split("?")[0] } : decoded;
  let request: HttpRequest | undefined;
  const app: App = async (asked) => {
    request = asked;
    return { status: 200, headers: {}, body: "" };
  };
  await serveEvents(app, {})(JSON.parse(JSON.stringify(event)));
  if (!request) throw new Error("the request did not reach the application");
  return request;
}

/** A segment of a path as a client may write it: any of its bytes may be percent-encoded, in upper or lower case. */
const encodedBy = (text: string, choices: readonly number[]): string =>
  [...text]
    .map((char, i) => {
      const choice = choices[i % choices.length] ?? 0;
      const whole = Array.from(Buffer.from(char), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(
        "",
      );
      const must = !/^[A-Za-z0-9._~:@=+,-]$/.test(char);
      return choice === 0 && !must ? char : choice === 1 ? whole : whole.toUpperCase();
    })
    .join("");
const choices = fc.array(fc.nat(2), { minLength: 1, maxLength: 9 });

const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
      fc.constantFrom(..."%#?&=+ ;\\:@aZ4"),
    ),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join("").toWellFormed());

/** Text that a client can send in a path. A client itself resolves segments of dots, and %41 would mean an encoded A. */
const segment = text.filter(
  (one) => one !== "" && !/(^|\/)\.{1,2}(\/|$)/.test(one) && !/%[0-9a-f]{2}/i.test(one),
);

describe("a request", () => {
  property(
    "names the key that its client named, however it is encoded",
    [topic, key, choices, fc.boolean()],
    async (name, named, how, asSent) => {
      const url = `/topics/${name}/jobs/${encodedBy(named, how)}`;
      const { path } = await arrived({ method: "DELETE", url, asSent });
      expect(path.split("/").map(decodeURIComponent)).toEqual(["", "topics", name, "jobs", named]);
    },
  );

  property(
    "names the text that its client named, whatever its characters",
    [segment, choices, fc.boolean()],
    async (named, how, asSent) => {
      const { path } = await arrived({ url: `/jobs/${encodedBy(named, how)}`, asSent });
      expect(decodeURIComponent(path)).toBe(`/jobs/${named}`);
    },
  );

  property(
    "keeps its query, whatever it says",
    [fc.array(fc.tuple(text, text), { maxLength: 4 }), fc.boolean()],
    async (pairs, plus) => {
      const encoded = new URLSearchParams(pairs).toString();
      const query = plus ? encoded : encoded.replaceAll("+", "%20");
      const request = await arrived({ method: "GET", url: `/jobs?${query}` });
      expect([...new URLSearchParams(`?${request.query}`)]).toEqual(pairs);
    },
  );

  const raw = fc.stringMatching(/^[!-~]{0,20}$/);
  property("keeps a query that no library wrote", [raw], async (query) => {
    const request = await arrived({ method: "GET", url: `/jobs?${query}` });
    expect([...new URLSearchParams(`?${request.query}`)]).toEqual([...new URLSearchParams(`?${query}`)]);
  });

  const name = fc.stringMatching(/^x-[a-z0-9_-]{0,10}$/);
  // Values as Node's server passes them on: visible characters and Latin-1, without spaces at the ends.
  const value = fc.stringMatching(/^[!-~\u00a1-\u00ff](?:[ -~\u00a1-\u00ff]{0,20}[!-~\u00a1-\u00ff])?$/);
  property("keeps its headers", [fc.dictionary(name, value, { maxKeys: 4 })], async (headers) => {
    const request = await arrived({ url: "/jobs", headers: { ...headers } });
    expect(request.headers).toMatchObject({ ...headers });
  });

  const type = fc.constantFrom(
    "application/json",
    "text/plain",
    "application/octet-stream",
    "application/problem+json",
    "",
  );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)),
    fc.string({ unit: "binary", maxLength: 20 }).map((text) => Buffer.from(`\ufeff${text}`)),
  );
  property("keeps every byte of its body, whatever its type", [type, bytes], async (contentType, body) => {
    const request = await arrived({ url: "/jobs", headers: { "content-type": contentType }, body });
    expect(Buffer.from(request.body ?? "")).toEqual(body);
  });
});

describe("a route", () => {
  const ROUTES = ["GET /jobs/{id}", "ANY /jobs/batch", "POST /topics/{topic}/receive", "ANY /{proxy+}"].map(
    (one) => parseRoute(one, one),
  );
  const one = segment.filter((each) => !each.includes("/"));
  const path = fc.oneof(
    fc.tuple(fc.constant("jobs"), fc.oneof(one, fc.constant("batch"))),
    fc.tuple(fc.constant("topics"), one, fc.constant("receive")),
    fc.array(one, { minLength: 1, maxLength: 4 }),
  );

  property("gives its parameters the very segments that were sent", [path, choices], (segments, how) => {
    const sent = `/${segments.map((each) => encodedBy(each, how)).join("/")}?a=/b`;
    const decoded = decodePath(sent) ?? "";
    expect(decoded).toBe(`/${segments.join("/")}`);
    const match = matchRoute(ROUTES, "POST", decoded);
    const [first, second, third] = segments;
    if (first === "jobs" && second === "batch" && segments.length === 2)
      expect(match).toMatchObject({ route: { key: "ANY /jobs/batch" }, pathParameters: {} });
    else if (first === "topics" && third === "receive" && segments.length === 3)
      expect(match?.pathParameters).toEqual({ topic: second });
    else expect(match?.pathParameters).toEqual({ proxy: segments.join("/") });
  });
});
