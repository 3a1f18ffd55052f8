import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";

export type HttpRequest = {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly sourceIp: string;
  readonly body: Buffer;
};

type Place = {
  readonly routeKey: string;
  readonly pathParameters: Record<string, string>;
  readonly requestId: string;
  /** ms since the epoch. */
  readonly now: number;
  readonly account: string;
};

/** Only these are handed on as text: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html */
const TEXT_TYPE = /^(text\/|application\/(json|javascript|xml|[\w.-]+\+(json|xml))\b)/i;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The path as API Gateway hands it on, which decodes it even in `rawPath`. Nothing if it is malformed. */
export function decodePath(url: string): string | undefined {
  const [path = "/"] = url.split("?", 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** A request as an HTTP API's Lambda integration gets it, payload format 2.0. */
export function httpEvent(request: HttpRequest, place: Place) {
  const path = decodePath(request.url) ?? "/";
  const query = request.url.includes("?") ? request.url.slice(request.url.indexOf("?") + 1) : "";
  const { cookie, ...others } = request.headers;
  const headers = joined(others);
  const parameters = queryParameters(query);
  const isText = TEXT_TYPE.test(headers["content-type"] ?? "") && isUtf8(request.body);
  return {
    version: "2.0",
    routeKey: place.routeKey,
    rawPath: path,
    rawQueryString: query,
    ...(cookie ? { cookies: cookie.split(/; */) } : {}),
    headers,
    ...(parameters ? { queryStringParameters: parameters } : {}),
    requestContext: {
      accountId: place.account,
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
      requestId: place.requestId,
      routeKey: place.routeKey,
      stage: "$default",
      time: commonLogTime(new Date(place.now)),
      timeEpoch: place.now,
    },
    ...(Object.keys(place.pathParameters).length > 0 ? { pathParameters: place.pathParameters } : {}),
    ...(request.body.length > 0 ? { body: request.body.toString(isText ? "utf8" : "base64") } : {}),
    isBase64Encoded: request.body.length > 0 && !isText,
  };
}

function joined(headers: IncomingHttpHeaders): Record<string, string> {
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
