import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";

export type HttpRequest = {
  readonly method: string;
  /** Path and query, still encoded. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly sourceIp: string;
  readonly body: Buffer;
};

type RouteContext = {
  readonly routeKey: string;
  readonly pathParameters: Record<string, string>;
  readonly requestId: string;
  /** ms since the epoch. */
  readonly now: number;
  readonly account: string;
};

/**
 * Only these bodies are passed on as text:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
const TEXT_TYPE = /^(text\/|application\/(json|javascript|xml|[\w.-]+\+(json|xml))\b)/i;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Decodes the path of a URL, as API Gateway does even for `rawPath`. Answers `undefined` if the path is malformed. */
export function decodePath(url: string): string | undefined {
  const [path = "/"] = url.split("?", 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** Payload format 2.0. */
export function httpEvent(request: HttpRequest, context: RouteContext) {
  const path = decodePath(request.url) ?? "/";
  const query = request.url.includes("?") ? request.url.slice(request.url.indexOf("?") + 1) : "";
  const { cookie, ...others } = request.headers;
  const headers = joinLists(others);
  const parameters = queryParameters(query);
  const isText = TEXT_TYPE.test(headers["content-type"] ?? "") && isUtf8(request.body);
  return {
    version: "2.0",
    routeKey: context.routeKey,
    rawPath: path,
    rawQueryString: query,
    ...(cookie ? { cookies: cookie.split(/; */) } : {}),
    headers,
    ...(parameters ? { queryStringParameters: parameters } : {}),
    requestContext: {
      accountId: context.account,
      apiId: "local",
      domainName: headers.host ?? "",
      domainPrefix: "local",
      http: {
        method: request.method,
        path,
        protocol: "HTTP/1.1",
        sourceIp: request.sourceIp,
        userAgent: headers["user-agent"] ?? "",
      },
      requestId: context.requestId,
      routeKey: context.routeKey,
      stage: "$default",
      time: commonLogTime(new Date(context.now)),
      timeEpoch: context.now,
    },
    ...(Object.keys(context.pathParameters).length > 0 ? { pathParameters: context.pathParameters } : {}),
    ...(request.body.length > 0 ? { body: request.body.toString(isText ? "utf8" : "base64") } : {}),
    isBase64Encoded: request.body.length > 0 && !isText,
  };
}

function joinLists(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(",") : value] as const],
  );
  return Object.fromEntries(entries);
}

function queryParameters(query: string): Record<string, string> | undefined {
  if (query === "") return undefined;
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    const earlier = parameters.get(name);
    parameters.set(name, earlier === undefined ? value : `${earlier},${value}`);
  }
  return Object.fromEntries(parameters);
}

/** `12/Mar/2026:19:03:58 +0000` */
function commonLogTime(time: Date): string {
  const [date = "", clock = ""] = time.toISOString().split(/[T.]/);
  const [year, , day] = date.split("-");
  return `${day}/${MONTHS[time.getUTCMonth()]}/${year}:${clock} +0000`;
}
