import { createHash } from "node:crypto";
import { DAY, LONGEST_DELAY } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { bodyText } from "../core/json.ts";
import type { CallMark } from "../core/once.ts";
import { iso } from "../general/times.ts";
import type { Reschedule } from "../protocol/change/reschedule.ts";
import type { NewJob } from "../protocol/new-job.ts";
import { policyOf, untrackedRefusal } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import { callbackHeadersError } from "../settings/callback-headers.ts";
import { callbackUrlError } from "../settings/callback-url.ts";
import { type TopicPolicy, webhookPolicy } from "../settings/policy.ts";
import type { ChangeFields, NewJobFields } from "./requests.ts";

/** Throws `too-large` for the body, `bad-request` for the time. `refusal`: why its topic forbids its URL, headers, attempts or an option. */
export function newJobOf(ctx: Context, fields: NewJobFields): NewJob {
  const { body, delay, dueAt, ...same } = fields;
  // A delay of 0 is no time of the clock, so the job is not late if the filing takes a moment.
  const time = requestedDueAt(ctx.clock(), { delay: delay || undefined, dueAt });
  const error = callbackError(policyOf(ctx, fields.topic), fields);
  const refusal =
    error === undefined ? untrackedRefusal(ctx, fields) : new MinutehandError("bad-request", error);
  return {
    ...same,
    body: bodyText(body),
    ...(time === undefined ? {} : { dueAt: time }),
    ...(refusal && { refusal }),
  };
}

/** `undefined`: the topic allows the URL, the headers and the number of attempts. */
function callbackError(
  policy: TopicPolicy,
  { topic, callbackUrl, headers = {}, maxAttempts = 0 }: NewJobFields,
): string | undefined {
  if (policy.consumer !== "webhook") {
    if (callbackUrl === undefined) return undefined;
    return `callbackUrl must be absent for topic ${topic}, which has no webhook consumer`;
  }
  const webhook = webhookPolicy(policy);
  const url = callbackUrl ?? webhook.url;
  if (url === undefined) return `callbackUrl must be given, because topic ${topic} has no URL of its own`;
  const error = callbackUrlError(url, webhook);
  if (error !== undefined) return `callbackUrl ${error}`;
  const { mostAttempts = policy.maxAttempts } = webhook;
  if (maxAttempts > mostAttempts)
    return `maxAttempts must be at most ${mostAttempts}, the limit of topic ${topic}, got ${maxAttempts}`;
  const wrong = callbackHeadersError(headers);
  return wrong && `headers become HTTP headers of the webhook call: ${wrong}`;
}

/** When a job is due, in ms since the epoch; `undefined` without `delay` and `dueAt`. Throws `bad-request` for more than 10 years ahead. */
export function requestedDueAt(
  now: number,
  { delay, dueAt }: { delay?: number | undefined; dueAt?: number | undefined },
): number | undefined {
  // rule: due-after-the-whole-delay
  const time = delay === undefined ? dueAt : now + delay;
  if (time !== undefined && time - now > LONGEST_DELAY) {
    const most = `${LONGEST_DELAY / DAY} days ahead, by ${iso(now + LONGEST_DELAY)}`;
    throw new MinutehandError("bad-request", `dueAt must be at most ${most}, got ${iso(time)}`);
  }
  return time;
}

/** Requests with the same `Idempotency-Key` must have the same hash. */
export function hashOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("base64url");
}

type SentHeaders = {
  "idempotency-key"?: string;
  "minutehand-chain"?: string;
  "minutehand-traceparent"?: string | undefined;
  traceparent?: string | undefined;
};
/** `text`: its body. */
export type Sent = { method: string; path: string; headers: SentHeaders; text: string };

export function onceOf({ method, path, headers, text }: Sent): Pick<NewJob, "once"> {
  const token = headers["idempotency-key"];
  return token === undefined ? {} : { once: { token, hash: hashOf(method, path, text) } };
}

/** Answers the span in which the caller makes the call, if it says so. Between our client and here, others may have added a `traceparent`. */
export function traceOf({ headers }: Pick<Sent, "headers">): Pick<NewJob, "traceparent"> {
  const traceparent = headers["minutehand-traceparent"] ?? headers.traceparent;
  return traceparent === undefined ? {} : { traceparent };
}

/** 96 bits, which suffice to tell the last calls of a job apart. */
const MARK_CHARS = 16;

export function callMarkOf({ method, path, headers, text }: Sent): { call?: CallMark } {
  const token = headers["idempotency-key"];
  if (token === undefined) return {};
  const short = (hash: string): string => hash.slice(0, MARK_CHARS);
  return { call: { key: short(hashOf(token)), request: short(hashOf(method, path, text)) } };
}

/** Throws `too-large` for the body, `bad-request` for the time. */
export function rescheduleOf(ctx: Context, { delay, dueAt, body }: ChangeFields, sent: Sent): Reschedule {
  const time = requestedDueAt(ctx.clock(), { delay, dueAt });
  return {
    ...(time === undefined ? {} : { dueAt: time }),
    ...(dueAt === undefined ? {} : { wantedAt: dueAt }),
    ...(body === undefined ? {} : { body: bodyText(body) }),
    ...callMarkOf(sent),
  };
}
