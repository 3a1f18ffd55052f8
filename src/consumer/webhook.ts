import { secretsClient } from "../aws/clients.ts";
import { type Secrets, secretVersions } from "../aws/secrets.ts";
import { createContext, type Environment, requiredVariable } from "../environment/context.ts";
import { machineClock, TIMERS } from "../environment/process.ts";
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
  const receiver = { topic, secrets, post: httpPost(), clock: machineClock };
  return webhookOn(ctx, receiver, TIMERS, ctx.telemetry.flush);
}

type Receiver = {
  readonly topic: string;
  readonly secrets: Secrets;
  readonly post: Post;
  readonly clock?: Context["clock"];
};

/**
 * The secrets are read before any claim. Without them the invocation fails as a whole: SQS keeps its messages, no job loses an attempt, and
 * the alarm on the oldest message rings. `clock`: the receivers' time, by which they judge a call's timestamp.
 */
export function webhookOn(
  ctx: Context,
  { topic, secrets, post, clock = ctx.clock }: Receiver,
  timers: Timers,
  done: Done,
): ConsumerFunction {
  const longestRun = webhookPolicy(policyOf(ctx, topic)).timeout * 1000;
  return async (event, context) => {
    const run = webhookRun({ policy: ctx.policy, clock }, { secrets: await secrets(), post });
    return consumeWith(ctx, run, timers, done, longestRun)(event, context);
  };
}
