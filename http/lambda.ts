import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { logsIn } from "../core/log-groups.ts";
import { type App, problemAnswer } from "./app.ts";
import { problem } from "./problem.ts";
import type { HttpRequest } from "./route.ts";

/** Serves the events of an HTTP API (payload format 2.0). `begin` is called before each request, `done` after each answer. */
export function serveEvents(
  app: App,
  { begin = () => {}, done = () => {} }: { begin?: () => void; done?: () => void },
) {
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    begin();
    try {
      const request = requestOf(event);
      const { status, headers, body } = request
        ? await app(request, { caller: callerOf(event), logs: () => logsIn(event.stageVariables) })
        : problemAnswer(problem("bad-request", "the request must have a valid HTTP method and path"));
      return { statusCode: status, headers, body, isBase64Encoded: false };
    } finally {
      done();
    }
  };
}

/** The ARN of the user or role that signed a call; `undefined` if the API does not require signatures. */
function callerOf({ requestContext }: APIGatewayProxyEventV2): string | undefined {
  return (requestContext as { authorizer?: { iam?: { userArn?: string } } }).authorizer?.iam?.userArn;
}

/** The request of an event; `undefined` if its method or path is not valid. */
function requestOf(event: APIGatewayProxyEventV2): HttpRequest | undefined {
  const { method } = event.requestContext.http;
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(method) || !event.rawPath.startsWith("/")) return undefined;
  return {
    method,
    path: event.rawPath.toWellFormed().split("/").map(segmentOf).join("/"),
    query: event.rawQueryString.toWellFormed(),
    headers: headersOf(event.headers),
    body: event.isBase64Encoded ? Buffer.from(event.body ?? "", "base64") : (event.body ?? ""),
  };
}

/** Encodes a segment of a path, whether or not API Gateway has decoded it. */
function segmentOf(segment: string): string {
  // Clients and proxies remove the segments `.` and `..` from a path. So no topic, key or id can be such a segment. Encode it twice, so that the schemas refuse it.
  if (/^(?:\.|%2e){1,2}$/i.test(segment)) return "%252E";
  return segment.replace(/%(?![0-9a-f]{2})|[^%]/giu, (part) => encodeURIComponent(part));
}

/** The headers of an event by lower-case names. */
function headersOf(sent: APIGatewayProxyEventV2["headers"]): Record<string, string> {
  const entries = Object.entries(sent).map(([name, value = ""]) => [name.toLowerCase(), value]);
  return Object.fromEntries(entries);
}
