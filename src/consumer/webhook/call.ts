import { toJson } from "../../core/json.ts";
import type { MessageJob } from "../../core/message.ts";
import { policyOf } from "../../protocol/policy.ts";
import type { Context } from "../../protocol/ports.ts";
import { forwardedHeaders } from "../../settings/callback-headers.ts";
import { callbackUrlRule } from "../../settings/callback-url.ts";
import { type WebhookPolicy, webhookPolicy } from "../../settings/policy.ts";
import type { Sign } from "./sign.ts";

/** Header names are lower case. */
export type Call = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly policy: WebhookPolicy;
};

/** `body`: the start of the answer's body. */
export type Reply = { readonly status: number; readonly retryAfter?: string; readonly body: string };

/** Throws if no answer came, or `signal` was aborted. */
export type Post = (call: Call, signal: AbortSignal) => Promise<Reply>;

/** Throws if there is no URL, or it is not allowed: the policy may have changed since the job was filed. */
export function callOf(
  ctx: Pick<Context, "policy" | "clock">,
  sign: Sign,
  job: MessageJob,
  topic: string,
): Call {
  const policy = webhookPolicy(policyOf(ctx, topic));
  // rule: callback-url-of-the-job-first
  const url = job.callbackUrl ?? policy.url;
  if (url === undefined) throw new Error(`neither the job nor topic ${topic} says which URL to call`);
  const rule = callbackUrlRule(url, policy);
  if (rule !== undefined) throw new Error(`callbackUrl ${rule}`);
  const body = toJson(job.body);
  // rule: one-webhook-id-until-a-redrive
  const id = callId(job);
  const now = ctx.clock();
  return {
    url,
    policy,
    body,
    headers: {
      // A job's own header of this name says more exactly what the caller wants.
      ...(job.traceparent !== undefined && { traceparent: job.traceparent }),
      ...forwardedHeaders(job.headers ?? {}),
      "content-type": "application/json",
      "user-agent": "Minutehand",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now / 1000)),
      "webhook-signature": sign({ url, id, now, body, sharedSecret: policy.sharedSecret }),
      "minutehand-topic": topic,
      "minutehand-attempt": String(job.attempt),
      ...(job.key !== undefined && { "minutehand-key": job.key }),
      ...(job.schedule !== undefined && { "minutehand-schedule": job.schedule }),
      ...(job.scheduledFor !== undefined && { "minutehand-scheduled-for": job.scheduledFor }),
    },
  };
}

/** The same on each retry and at another time, so that receivers drop repeats. Another one after a redrive or a change of a job that has run. */
function callId({ id, restarts = 0 }: Pick<MessageJob, "id" | "restarts">): string {
  return restarts === 0 ? id : `${id}-${restarts}`;
}
