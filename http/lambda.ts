import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { logsIn } from "../core/log-groups.ts";
import { type Bindings, problemResponse } from "./app.ts";
import { problem } from "./problem.ts";

/**
 * Serves the events of an HTTP API (payload format 2.0). `begin` is called before each request, `done` after each answer.
 *
 * Hono's own adapter cannot be used here for two reasons. First, it uses `rawPath` unchanged, but API Gateway has decoded `rawPath`:
 * a key that was sent as `a%23b` would be read as `a`, and the wrong job would be cancelled. Second, it alters headers that are not
 * ASCII, and answers 500 to some of them.
 */
export function serveEvents(
  app: { fetch: (request: Request, bindings: Bindings) => Response | Promise<Response> },
  { begin = () => {}, done = () => {} }: { begin?: () => void; done?: () => void },
) {
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    begin();
    try {
      const request = requestOf(event);
      const response = request
        ? await app.fetch(request, { caller: callerOf(event), logs: logsIn(event.stageVariables) })
        : problemResponse(problem("bad-request", "the request must have a valid HTTP method and path"));
      return {
        statusCode: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
        isBase64Encoded: false,
      };
    } finally {
      done();
    }
  };
}

/** The ARN of the user or role that signed a call; `undefined` if the API does not require signatures. */
function callerOf({ requestContext }: APIGatewayProxyEventV2): string | undefined {
  return (requestContext as { authorizer?: { iam?: { userArn?: string } } }).authorizer?.iam?.userArn;
}

/** The methods that a `Request` cannot have, but a client may send: https://fetch.spec.whatwg.org/#forbidden-method */
const FORBIDDEN = ["CONNECT", "TRACE", "TRACK"];

/** The request of an event; `undefined` if its method or path is not valid. */
function requestOf(event: APIGatewayProxyEventV2): Request | undefined {
  const { method } = event.requestContext.http;
  const bodiless = method === "GET" || method === "HEAD";
  const body =
    bodiless || event.body === undefined
      ? {}
      : { body: Buffer.from(event.body, event.isBase64Encoded ? "base64" : "utf8") };
  try {
    const allowed = FORBIDDEN.includes(method) ? "OPTIONS" : method;
    const request = new Request(urlOf(event), {
      method: allowed,
      headers: headersOf(event.headers),
      ...body,
    });
    // Give the request its forbidden method back, so that the API answers 405 with the name of the method.
    return allowed === method ? request : Object.defineProperty(request, "method", { value: method });
  } catch {
    return undefined;
  }
}

function urlOf({ rawPath, rawQueryString }: APIGatewayProxyEventV2): string {
  const path = rawPath.toWellFormed().split("/").map(segmentOf).join("/");
  // Encode these characters: a URL parser would cut the query off at `#` and leave white space out.
  const query = rawQueryString.toWellFormed().replace(/[#\s]/g, encodeURIComponent);
  return `https://api${path}${query === "" ? "" : `?${query}`}`;
}

/** Encodes a segment of a path, whether or not API Gateway has decoded it. */
function segmentOf(segment: string): string {
  // A URL parser removes the segments `.` and `..`, also if written with %2e. Encode them twice, so that the schemas can refuse them.
  if (/^(?:\.|%2e){1,2}$/i.test(segment)) return "%252E";
  return segment.replace(/%(?![0-9a-f]{2})|[^%]/giu, (part) => encodeURIComponent(part));
}

function headersOf(sent: APIGatewayProxyEventV2["headers"]): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(sent)) {
    if (value === undefined) continue;
    try {
      headers.set(name, value);
    } catch {
      // `Headers` refuses this value. Replace the value by a character that the schema of every header refuses.
      if (/^[\w-]+$/.test(name)) headers.set(name, "\u00ff");
    }
  }
  return headers;
}
