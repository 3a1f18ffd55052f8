import { secretsClient } from "../aws/clients.ts";
import { type Secrets, secretVersions } from "../aws/secrets.ts";
import { webhookPolicy } from "../core/policy.ts";
import { createContext, type Environment, required } from "../environment/context.ts";
import { TIMERS } from "../http/timers.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context, Timers } from "../protocol/ports.ts";
import { type ConsumerFunction, consumeWith } from "./consume.ts";
import type { Post } from "./webhook/call.ts";
import { httpPost } from "./webhook/post.ts";
import { webhookRun } from "./webhook/run.ts";

/** The Lambda function that runs a webhook topic's jobs, as the environment describes it. */
export function webhookConsumer(environment: Environment = process.env): ConsumerFunction {
  const ctx = createContext(environment);
  const topic = required(environment, "MINUTEHAND_WEBHOOK_TOPIC");
  const secrets = secretVersions({
    client: secretsClient(),
    arn: required(environment, "MINUTEHAND_WEBHOOK_SECRET"),
    clock: ctx.clock,
    onTrouble: (error) => ctx.report({ type: "trouble", topic, what: "reading the webhook's secret", error }),
  });
  return webhookOn(ctx, { topic, secrets, post: httpPost() }, TIMERS, ctx.telemetry.flush);
}

/**
 * The same over any context and network. The secrets are read before anything is claimed: an invocation that has
 * none fails as a whole, so that SQS keeps its messages, no attempt is burnt, and the alarms of a queue that is not
 * emptied ring.
 */
export function webhookOn(
  ctx: Context,
  { topic, secrets, post }: { topic: string; secrets: Secrets; post: Post },
  timers: Timers,
  done: () => void,
): ConsumerFunction {
  const longestRun = webhookPolicy(policyOf(ctx, topic)).timeout * 1000;
  return async (event, context) => {
    const run = webhookRun(ctx, { secrets: await secrets(), post });
    return consumeWith(ctx, run, timers, done, longestRun)(event, context);
  };
}
