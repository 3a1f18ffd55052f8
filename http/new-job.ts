import { createHash } from "node:crypto";
import { bodyText } from "../core/body-text.ts";
import { callbackHeadersError } from "../core/callback-headers.ts";
import { callbackUrlError } from "../core/callback-url.ts";
import { DAY, LONGEST_DELAY } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import type { CallMark } from "../core/once.ts";
import { type TopicPolicy, webhookPolicy } from "../core/policy.ts";
import type { Enqueued, NewJob } from "../protocol/new-job.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import { iso } from "./instants.ts";
import type { NewJobFields } from "./requests.ts";

/**
 * The job that validated fields ask for. Throws `too-large` for its body, `bad-request` for its time. Its `refusal` is a
 * `bad-request` for its URL, the headers that would go with its call, or more attempts than its topic lets a job have.
 */
export function newJobOf(ctx: Context, fields: NewJobFields): NewJob {
  const { body, delay, dueAt, ...same } = fields;
  const error = callbackError(policyOf(ctx, fields.topic), fields);
  return {
    ...same,
    body: bodyText(body),
    dueAt: requestedDueAt(ctx.clock(), { delay, dueAt }) ?? ctx.clock(),
    ...(error === undefined ? {} : { refusal: new MinutehandError("bad-request", error) }),
  };
}

/** What its topic's consumer forbids of where a job is sent, with which headers, and how often; `undefined`: nothing. */
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

/** ms since the epoch; `undefined` when neither is given. Throws `bad-request` for more than 10 years ahead. */
export function requestedDueAt(
  now: number,
  { delay, dueAt }: { delay: number | undefined; dueAt: number | undefined },
): number | undefined {
  // rule: due-after-the-whole-delay
  const time = delay === undefined ? dueAt : now + delay;
  if (time !== undefined && time - now > LONGEST_DELAY) {
    const most = `${LONGEST_DELAY / DAY} days ahead, by ${iso(now + LONGEST_DELAY)}`;
    throw new MinutehandError("bad-request", `dueAt must be at most ${most}, got ${iso(time)}`);
  }
  return time;
}

/** What tells an `Idempotency-Key`'s request from a different one. */
export function hashOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("base64url");
}

export type Sent = { method: string; path: string; headers: { "idempotency-key"?: string }; text: string };

/** That a request with an `Idempotency-Key` files one job, however often it is sent. */
export function onceOf({ method, path, headers, text }: Sent): Pick<NewJob, "once"> {
  const token = headers["idempotency-key"];
  return token === undefined ? {} : { once: { token, hash: hashOf(method, path, text) } };
}

/** Characters of a hash that a home keeps: 96 bits tell its last calls apart. */
const MARK_CHARS = 16;

/** That a call with an `Idempotency-Key` changes each job once, however often it is sent. */
export function callOf({ method, path, headers, text }: Sent): { call?: CallMark } {
  const token = headers["idempotency-key"];
  if (token === undefined) return {};
  const short = (hash: string): string => hash.slice(0, MARK_CHARS);
  return { call: { key: short(hashOf(token)), request: short(hashOf(method, path, text)) } };
}

/** 201 for what is new, and again for its repeat; 200 for what was there. */
export function statusOf({ outcome }: Enqueued): 200 | 201 {
  return outcome === "created" || outcome === "replayed" ? 201 : 200;
}
