import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { type Bindings, problemResponse } from "./app.ts";
import { problem } from "./problem.ts";

/**
 * Serves an HTTP API's events (payload format 2.0). Hono's own adapter takes the path as it comes, but API
 * Gateway decodes `rawPath`: a key sent as `a%23b` would then be read as `a`, and the wrong job cancelled.
 * It also alters headers that are not ASCII, and answers 500 to some. `begin` is called before each request is looked at, `done`
 * after each answer.
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
        ? await app.fetch(request, { caller: callerOf(event) })
        : problemResponse(problem("bad-request", "the request must have a method that carries requests"));
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

/** The ARN of the user or role that signed a call; where the API asks for no signature, nothing. */
function callerOf({ requestContext }: APIGatewayProxyEventV2): string | undefined {
  return (requestContext as { authorizer?: { iam?: { userArn?: string } } }).authorizer?.iam?.userArn;
}

/** What fetch forbids, though a request may come with it: https://fetch.spec.whatwg.org/#forbidden-method */
const FORBIDDEN = ["CONNECT", "TRACE", "TRACK"];

/** `undefined` for what is no request. */
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
    // No path takes it: the answer, which names it, is the API's own.
    return allowed === method ? request : Object.defineProperty(request, "method", { value: method });
  } catch {
    return undefined;
  }
}

function urlOf({ rawPath, rawQueryString }: APIGatewayProxyEventV2): string {
  const path = rawPath.toWellFormed().split("/").map(segmentOf).join("/");
  // What URL parsers cut off or leave out.
  const query = rawQueryString.toWellFormed().replace(/[#\s]/g, encodeURIComponent);
  return `https://api${path}${query === "" ? "" : `?${query}`}`;
}

/** A path's segment as a URL has it, whether or not it was decoded on its way here. */
function segmentOf(segment: string): string {
  // URL parsers resolve dots away, written as %2e too; encoded twice they reach the schemas, which refuse them.
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
      // No header can hold it; where a route reads this one, its schema refuses what stands here instead.
      if (/^[\w-]+$/.test(name)) headers.set(name, "\u00ff");
    }
  }
  return headers;
}
