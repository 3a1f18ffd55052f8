import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { CALLER_GONE } from "../general/caller-gone.ts";
import { logsIn } from "../settings/log-groups.ts";
import { type App, problemAnswer } from "./app.ts";
import { problem } from "./problem.ts";
import type { HttpRequest } from "./route.ts";

/** Payload format 2.0. `begin` is called before each request, `done` is awaited after each answer. */
export function serveEvents(
  app: App,
  { begin = () => {}, done = () => {} }: { begin?: () => void; done?: () => unknown },
) {
  return async (
    event: APIGatewayProxyEventV2,
    context?: object,
  ): Promise<APIGatewayProxyStructuredResultV2> => {
    begin();
    try {
      const request = requestOf(event, context);
      const { status, headers, body } = request
        ? await app(request, { caller: callerOf(event), logs: () => logsIn(event.stageVariables) })
        : problemAnswer(problem("bad-request", "the request must have a valid HTTP method and path"));
      return { statusCode: status, headers, body, isBase64Encoded: false };
    } finally {
      await done();
    }
  };
}

/** "Control access to HTTP APIs with JWT authorizers" and "… with AWS Lambda authorizers", Amazon API Gateway Developer Guide. */
type Authorizer = {
  readonly iam?: { readonly userArn?: string } | null;
  readonly jwt?: { readonly claims?: { readonly sub?: unknown } } | null;
  /** The context that a Lambda authorizer has answered. */
  readonly lambda?: { readonly principalId?: unknown } | null;
};

/** `undefined` if the authorizer names nobody, and locally, where the API asks no authorizer. */
function callerOf({ requestContext }: APIGatewayProxyEventV2): string | undefined {
  const { iam, jwt, lambda } = (requestContext as { authorizer?: Authorizer }).authorizer ?? {};
  const named = iam?.userArn ?? jwt?.claims?.sub ?? lambda?.principalId;
  return typeof named === "string" && named !== "" ? named.toWellFormed() : undefined;
}

/** `undefined` if the method or path is not valid. */
function requestOf(
  event: APIGatewayProxyEventV2,
  { [CALLER_GONE]: signal }: { [CALLER_GONE]?: AbortSignal } = {},
): HttpRequest | undefined {
  const { method } = event.requestContext.http;
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(method) || !event.rawPath.startsWith("/")) return undefined;
  return {
    method,
    path: event.rawPath.toWellFormed().split("/").map(segmentOf).join("/"),
    query: event.rawQueryString.toWellFormed(),
    headers: headersOf(event.headers),
    body: event.isBase64Encoded ? Buffer.from(event.body ?? "", "base64") : (event.body ?? ""),
    signal,
  };
}

/** API Gateway may have decoded it. */
function segmentOf(segment: string): string {
  // Clients and proxies remove `.` and `..` from a path. Encoded twice, they reach the schemas, which refuse them.
  if (/^(?:\.|%2e){1,2}$/i.test(segment)) return "%252E";
  return segment.replace(/%(?![0-9a-f]{2})|[^%]/giu, (part) => encodeURIComponent(part));
}

function headersOf(sent: APIGatewayProxyEventV2["headers"]): Record<string, string> {
  const entries = Object.entries(sent).map(([name, value = ""]) => [name.toLowerCase(), value]);
  return Object.fromEntries(entries);
}
