import { AwsV4Signer } from "aws4fetch";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { awsCredentials, type Credentials } from "./credentials.ts";

export type LogEvent = { readonly message: string; readonly timestamp: number };
/** `isWhole`: false if there may be further events. */
export type LogEvents = { readonly events: readonly LogEvent[]; readonly isWhole: boolean };

/** Which events of a log group: those that match a filter pattern, from `start` until before `end`, ms since the epoch. */
export type LogRange = {
  readonly region: string;
  readonly group: string;
  readonly pattern: string;
  readonly start: number;
  readonly end: number;
};

/** An answer may have no events although later answers have some: CloudWatch Logs looks through a part of the log for each. */
const MOST_ANSWERS = 40;
const MOST_EVENTS = 1000;
/** ms of one call. */
const PATIENCE = 20_000;

type Page = {
  readonly events?: readonly { readonly message?: string; readonly timestamp?: number }[];
  readonly nextToken?: string;
};

/**
 * Reads events with the user's credentials. Throws `forbidden` if these may not read the log or cannot be found, else `unavailable`. Calls CloudWatch
 * Logs without its client of the SDK: that one would be one more package to install, for one operation.
 */
export async function readLogEvents(
  range: LogRange,
  signal: AbortSignal,
  endpoint = endpointOf(range.region),
): Promise<LogEvents> {
  const credentials = await awsCredentials()().catch((error: unknown) => {
    const message = `the log cannot be read, because there are no AWS credentials: ${messageOf(error)}`;
    throw new MinutehandError("forbidden", message, {}, error);
  });
  const events: LogEvent[] = [];
  let nextToken: string | undefined;
  for (let answers = 0; answers < MOST_ANSWERS && events.length < MOST_EVENTS; answers += 1) {
    const page = await readPage(range, nextToken, { credentials, endpoint, signal });
    for (const { message = "", timestamp = range.start } of page.events ?? [])
      events.push({ message, timestamp });
    nextToken = page.nextToken;
    if (nextToken === undefined) return { events, isWhole: true };
  }
  return { events, isWhole: false };
}

/** The SDK's own variables name another address. */
function endpointOf(region: string): string {
  const { AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: ofLogs, AWS_ENDPOINT_URL: ofAll } = process.env;
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return ofLogs || ofAll || `https://logs.${region}.${domain}`;
}

type Access = {
  readonly credentials: Credentials;
  readonly endpoint: string;
  readonly signal: AbortSignal;
};

/** https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html */
async function readPage(range: LogRange, nextToken: string | undefined, access: Access): Promise<Page> {
  const { region, group, pattern, start, end } = range;
  const { credentials, endpoint, signal } = access;
  const asked = { logGroupName: group, filterPattern: pattern, startTime: start, endTime: end, nextToken };
  const request = {
    method: "POST",
    url: `${endpoint}/`,
    headers: {
      "content-type": "application/x-amz-json-1.1",
      "x-amz-target": "Logs_20140328.FilterLogEvents",
    },
    body: JSON.stringify(asked),
  };
  const signer = new AwsV4Signer({ ...request, ...credentials, service: "logs", region });
  const { headers } = await signer.sign();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
  let response: Response;
  try {
    response = await fetch(request.url, { ...request, headers, signal: limit, redirect: "manual" });
  } catch (error) {
    throw new MinutehandError(
      "unavailable",
      `CloudWatch Logs did not answer: ${messageOf(error)}`,
      {},
      error,
    );
  }
  const text = await response.text();
  if (!response.ok) throw refusal(range, response.status, text);
  return JSON.parse(text) as Page;
}

function refusal({ group, region }: LogRange, status: number, text: string): MinutehandError {
  const { __type = "", message = text.slice(0, 200) } = parsed(text);
  const code = __type.slice(__type.lastIndexOf("#") + 1);
  if (code === "AccessDeniedException")
    return new MinutehandError(
      "forbidden",
      `your AWS credentials may not read the log group ${group} in ${region}: they need the permission logs:FilterLogEvents. AWS says: ${message}`,
    );
  if (code === "ResourceNotFoundException")
    return new MinutehandError(
      "unavailable",
      `the account of your AWS credentials has no log group ${group} in ${region}: it was deleted, or the credentials are of another account`,
    );
  return new MinutehandError("unavailable", `CloudWatch Logs answered ${status} ${code}: ${message}`);
}

function parsed(text: string): { readonly __type?: string; readonly message?: string } {
  try {
    const { __type, message, Message } = JSON.parse(text);
    return {
      ...(__type && { __type: String(__type) }),
      ...((message ?? Message) && { message: String(message ?? Message) }),
    };
  } catch {
    return {};
  }
}
