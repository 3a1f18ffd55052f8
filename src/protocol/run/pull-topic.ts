import { MinutehandError, messageOf } from "../../core/errors.ts";
import type { TopicPolicy } from "../../settings/policy.ts";
import { requireTopic } from "../policy.ts";
import type { Context } from "../ports.ts";

/** Throws `unknown-topic`, `not-a-pull-topic`. */
export function requirePullTopic(ctx: Context, topic: string): TopicPolicy {
  const policy = requireTopic(ctx, topic);
  if (policy.consumer === "pull") return policy;
  throw new MinutehandError(
    "not-a-pull-topic",
    `topic ${topic} must be a pull topic, but it has a Lambda or webhook consumer`,
  );
}

/** How long each try may take: ms. It is short: docs/internals/decisions/claims.md. */
const PATIENCE = 1000;

/** A message to delete, or to make invisible for `seconds`. */
export type Away = { readonly handle: string; readonly seconds?: number };

/** A failure is only reported: SQS delivers the message again, and it is decided anew. */
export async function putAway(ctx: Context, topic: string, away: readonly Away[]): Promise<void> {
  const drop = away.flatMap(({ handle, seconds }) => (seconds === undefined ? handle : []));
  const hide = away.flatMap(({ handle, seconds }) => (seconds === undefined ? [] : { handle, seconds }));
  const outcomes = await Promise.allSettled([
    ctx.queues.remove({ topic }, drop, PATIENCE),
    ctx.queues.hide({ topic }, hide, PATIENCE),
  ]);
  for (const one of outcomes)
    if (one.status === "rejected")
      ctx.report({ type: "trouble", topic, what: "putting messages away", error: messageOf(one.reason) });
}
