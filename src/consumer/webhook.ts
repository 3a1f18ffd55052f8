import { secretsClient } from "../aws/clients.ts";
import { type Secrets, secretVersions } from "../aws/secrets.ts";
import { createContext, type Environment, requiredVariable } from "../environment/context.ts";
import { TIMERS } from "../environment/process.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context, Timers } from "../protocol/ports.ts";
import { webhookPolicy } from "../settings/policy.ts";
import { type ConsumerFunction, consumeWith, type Done } from "./consume.ts";
import type { Post } from "./webhook/call.ts";
import { httpPost } from "./webhook/post.ts";
import { webhookRun } from "./webhook/run.ts";

export function webhookConsumer(environment: Environment = process.env): ConsumerFunction {
  const ctx = createContext(environment);
  const topic = requiredVariable(environment, "MINUTEHAND_WEBHOOK_TOPIC");
  const secrets = secretVersions({
    client: secretsClient(),
    arn: requiredVariable(environment, "MINUTEHAND_WEBHOOK_SECRET"),
    clock: ctx.clock,
    onTrouble: (error) => ctx.report({ type: "trouble", topic, what: "reading the webhook's secret", error }),
  });
  return webhookOn(ctx, { topic, secrets, post: httpPost() }, TIMERS, ctx.telemetry.flush);
}

/**
 * The secrets are read before any claim. Without them the invocation fails as a whole: SQS keeps its messages, no job loses an attempt, and
 * the alarm on the oldest message rings.
 */
export function webhookOn(
  ctx: Context,
  { topic, secrets, post }: { topic: string; secrets: Secrets; post: Post },
  timers: Timers,
  done: Done,
): ConsumerFunction {
  const longestRun = webhookPolicy(policyOf(ctx, topic)).timeout * 1000;
  return async (event, context) => {
    const run = webhookRun(ctx, { secrets: await secrets(), post });
    return consumeWith(ctx, run, timers, done, longestRun)(event, context);
  };
}
