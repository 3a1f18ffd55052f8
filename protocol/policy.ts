import { type TopicPolicy, topicPolicy } from "../core/policy.ts";
import type { Context } from "./ports.ts";

/** Whether a topic's policy limits its starts. It asks for nothing else, so that no other setting's trouble is met here. */
export function isLimited({ policy }: Pick<Context, "policy">, topic: string): boolean {
  return isNamed({ policy }, topic) && policy.topics[topic]?.maxPerSecond !== undefined;
}

/** Whether the policy names a topic. A deploy may have removed it, or this process may not know of a newer one. */
export function isNamed({ policy }: Pick<Context, "policy">, topic: string): boolean {
  return Object.hasOwn(policy.topics, topic);
}

/** A topic's policy; one that is not configured (a deploy in mid-flight, a removed topic) has the defaults. */
export function policyOf(ctx: Pick<Context, "policy">, topic: string): TopicPolicy {
  return topicPolicy(isNamed(ctx, topic) ? (ctx.policy.topics[topic] ?? {}) : {});
}
