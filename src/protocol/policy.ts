import type { Actor } from "../core/actor.ts";
import { CHAIN_JOBS_A_DAY } from "../core/constants.ts";
import { MinutehandError, untrackedTopic } from "../core/errors.ts";
import { ttl } from "../core/item-keys.ts";
import { type TopicPolicy, topicPolicy } from "../settings/policy.ts";
import type { NewJob } from "./new-job.ts";
import type { Context } from "./ports.ts";

/** The context of a call, whose changes name who asked. Calls of one process share their bookings of starts by `process`. */
export function actingFor(ctx: Context, by: () => Actor): Context {
  return { ...ctx, by, process: ctx.process ?? ctx };
}

/** Says whether a topic has a limit. Reads `maxPerSecond` alone, so that another setting that is invalid does not make it throw. */
export function isLimited({ policy }: Pick<Context, "policy">, topic: string): boolean {
  return isNamed({ policy }, topic) && policy.topics[topic]?.maxPerSecond !== undefined;
}

/** How many jobs the handlers of a chain may file on a day, and how many runs of one job its handler may ask for. `undefined`: no bound. */
export function mostOfChain({ policy }: Pick<Context, "policy">): number | undefined {
  const { maxFiledPerChain = CHAIN_JOBS_A_DAY } = policy;
  return maxFiledPerChain || undefined;
}

/** Says whether callers may file only so many jobs of a topic in a minute. */
export function isFilingLimited(ctx: Pick<Context, "policy">, topic: string): boolean {
  return policyOf(ctx, topic).maxFiledPerMinute !== undefined;
}

/** Says whether the policy names a topic. Jobs may have other topics: a deploy has removed them, or a newer deploy has added them. */
export function isNamed({ policy }: Pick<Context, "policy">, topic: string): boolean {
  return Object.hasOwn(policy.topics, topic);
}

/** Answers a topic's policy. A topic that the policy does not name (`isNamed`) has the defaults. */
export function policyOf(ctx: Pick<Context, "policy">, topic: string): TopicPolicy {
  return topicPolicy(isNamed(ctx, topic) ? (ctx.policy.topics[topic] ?? {}) : {});
}

/** @throws `unknown-topic` */
export function requireTopic(ctx: Context, topic: string): TopicPolicy {
  if (!isNamed(ctx, topic)) throw unknownTopic(ctx, topic);
  return policyOf(ctx, topic);
}

/** As `requireTopic`, for a tracked topic. `what`: what an untracked topic refuses, for the error. @throws also `untracked-topic` */
export function requireTracked(ctx: Context, topic: string, what: string): TopicPolicy {
  const policy = requireTopic(ctx, topic);
  if (policy.tracking === "none") throw untrackedTopic(topic, what);
  return policy;
}

/** Answers why an untracked topic takes no job with these options. `undefined`: the topic takes the job. */
export function untrackedRefusal(
  ctx: Pick<Context, "policy">,
  { topic, key, expiresAfter }: Pick<NewJob, "topic" | "key" | "expiresAfter">,
): MinutehandError | undefined {
  if (policyOf(ctx, topic).tracking === "full") return undefined;
  if (key !== undefined) return untrackedTopic(topic, "a key");
  return expiresAfter === undefined ? undefined : untrackedTopic(topic, "expiresAfter");
}

/** The longest random duration by which a job is due later than requested: ms. */
export function spreadOf(ctx: Pick<Context, "policy">, { topic, spread }: NewJob): number {
  return spread ?? (policyOf(ctx, topic).spread ?? 0) * 1000;
}

/** Whether a job that is due at `dueAt` gets a schedule that promotes it, because it is due in more than `longDelay` seconds. */
export function isFar(ctx: Context, dueAt: number): boolean {
  const { longDelay } = ctx.policy;
  return ctx.promotions !== undefined && longDelay !== undefined && dueAt - ctx.clock() > longDelay * 1000;
}

/** What a home says of a job that ends at `now`: its end in ms, and when TTL deletes the home, in seconds since the epoch. */
export function endAt(
  { policy }: Pick<Context, "policy">,
  now: number,
): { finishedAt: number; expiresAt: number } {
  return { finishedAt: now, expiresAt: ttl(now + policy.retention * 1000) };
}

export function unknownTopic({ policy }: Pick<Context, "policy">, topic: string): MinutehandError {
  const known = Object.keys(policy.topics).join(", ");
  return new MinutehandError("unknown-topic", `topic must be one of ${known}, got ${topic}`, { topic });
}
