import { createHash } from "node:crypto";
import { BODY_BYTES, DAY, LONGEST_DELAY } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { toJson } from "../core/json.ts";
import type { Enqueued, NewJob } from "../protocol/new-job.ts";
import type { Context } from "../protocol/ports.ts";
import { iso } from "./instants.ts";
import type { NewJobFields } from "./requests.ts";

/** The job that validated fields ask for. Throws `too-large` for its body, `bad-request` for its time or URL. */
export function newJobOf(ctx: Context, fields: NewJobFields): NewJob {
  const { body, delay, dueAt, callbackUrl, ...same } = fields;
  if (callbackUrl !== undefined) {
    throw new MinutehandError(
      "bad-request",
      `callbackUrl is for topics with a webhook consumer, which ${fields.topic} has not`,
    );
  }
  return { ...same, body: bodyText(body), dueAt: dueAtOf(ctx.clock(), { delay, dueAt }) ?? ctx.clock() };
}

/** A job's body as it is stored. Throws `too-large`. */
export function bodyText(body: unknown): string {
  const text = toJson(body);
  const bytes = Buffer.byteLength(text);
  if (bytes <= BODY_BYTES) return text;
  throw new MinutehandError(
    "too-large",
    `a body can have ${BODY_BYTES} bytes (200 KiB) of JSON, this one has ${bytes}; keep it in S3 and send where`,
  );
}

/** ms since the epoch; `undefined` when neither is given. Throws `bad-request` for more than 10 years ahead. */
export function dueAtOf(
  now: number,
  { delay, dueAt }: { delay: number | undefined; dueAt: number | undefined },
): number | undefined {
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

/** 201 for what is new, and again for its repeat; 200 for what was there. */
export function statusOf({ outcome }: Enqueued): 200 | 201 {
  return outcome === "created" || outcome === "replayed" ? 201 : 200;
}
