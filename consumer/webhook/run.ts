import { forwardedHeaders } from "../../core/callback-headers.ts";
import { callbackUrlRule } from "../../core/callback-url.ts";
import { messageOf } from "../../core/errors.ts";
import { toJson } from "../../core/json.ts";
import type { MessageJob } from "../../core/message.ts";
import { webhookPolicy } from "../../core/policy.ts";
import { policyOf } from "../../protocol/policy.ts";
import type { Context } from "../../protocol/ports.ts";
import type { Ending } from "../../protocol/run/settle.ts";
import { type Call, callId, type Post } from "./call.ts";
import { errorText, outcomeOf } from "./outcome.ts";
import { type Sign, signWith } from "./sign.ts";

type RunWebhook = (job: MessageJob, topic: string, signal: AbortSignal) => Promise<Ending>;

/**
 * Makes the function that runs a webhook topic's jobs: it makes one call for each run, and says how the run ended. It never throws.
 *
 * @param secrets the topic's current secret, then older secrets that receivers may still know
 * @throws if the current secret is not a secret
 */
export function webhookRun(
  ctx: Pick<Context, "policy" | "clock">,
  { secrets, post }: { secrets: readonly string[]; post: Post },
): RunWebhook {
  const sign = signWith(secrets);
  return async (job, topic, signal) => {
    try {
      const reply = await post(callOf(ctx, sign, job, topic), signal);
      return outcomeOf(reply, job.attempt, ctx.clock());
    } catch (error) {
      return { end: "failed", error: errorText(messageOf(error)) };
    }
  };
}

/** The call of a run. Throws if there is nothing to call: the topic's policy may have changed since the job was filed. */
function callOf(ctx: Pick<Context, "policy" | "clock">, sign: Sign, job: MessageJob, topic: string): Call {
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
      ...forwardedHeaders(job.headers ?? {}),
      "content-type": "application/json",
      "user-agent": "Minutehand",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now / 1000)),
      "webhook-signature": sign({ url, id, now, body, sharedSecret: policy.sharedSecret }),
      "minutehand-topic": topic,
      "minutehand-attempt": String(job.attempt),
    },
  };
}
