import { type TopicPolicy, topicPolicy } from "../core/policy.ts";
import type { Context } from "./ports.ts";

/** A topic's policy; one that is not configured (a deploy in mid-flight, a removed topic) has the defaults. */
export function policyOf(ctx: Pick<Context, "policy">, topic: string): TopicPolicy {
  return topicPolicy(Object.hasOwn(ctx.policy.topics, topic) ? (ctx.policy.topics[topic] ?? {}) : {});
}
