import { RETRY_LOOK_AFTER, WRITER_DEADLINE } from "../core/constants.ts";
import { isNear } from "../core/home.ts";
import { type Home, lookAt } from "../core/items.ts";
import { delaySecondsOf, packsOf } from "../core/packs.ts";
import { type TopicPolicy, topicPolicy } from "../core/policy.ts";
import type { Context, Outgoing, Sent } from "./ports.ts";

/** A topic's policy; one that is not configured (a deploy in mid-flight, a removed topic) has the defaults. */
export function policyOf(ctx: Context, topic: string): TopicPolicy {
  return topicPolicy(Object.hasOwn(ctx.policy.topics, topic) ? (ctx.policy.topics[topic] ?? {}) : {});
}

/** Sends the current revision of each of these jobs, packed, and says by job id what became of it. */
export async function send(ctx: Context, homes: readonly Home[]): Promise<Map<string, Sent>> {
  const outcomes = new Map<string, Sent>();
  const topics = Map.groupBy(new Map(homes.map((home) => [home.id, home])).values(), (home) => home.topic);
  await Promise.all([...topics].map(([topic, jobs]) => sendTopic(ctx, topic, jobs, outcomes)));
  return outcomes;
}

async function sendTopic(
  ctx: Context,
  topic: string,
  homes: Home[],
  outcomes: Map<string, Sent>,
): Promise<void> {
  const policy = policyOf(ctx, topic);
  const packs = packsOf(topic, policy, homes);
  const now = ctx.clock();
  const messages = packs.map(
    ({ body, dueAt, group }): Outgoing => ({
      body,
      delaySeconds: delaySecondsOf(dueAt, now, policy.precision),
      ...(group === undefined ? {} : { group }),
    }),
  );
  const sent = await ctx.queues.send({ topic }, messages);
  const refusals = new Map<string, number>();
  let jobs = 0;
  for (const [i, pack] of packs.entries()) {
    const outcome = sent[i] ?? { outcome: "failing", reason: "no answer for this message" };
    for (const home of pack.homes) outcomes.set(home.id, outcome);
    if (outcome.outcome === "sent") jobs += pack.homes.length;
    else refusals.set(outcome.reason, (refusals.get(outcome.reason) ?? 0) + pack.homes.length);
  }
  if (jobs > 0) ctx.report({ type: "handed-over", topic, jobs, messages: packs.length });
  for (const [reason, count] of refusals)
    ctx.report({ type: "hand-over-failed", topic, jobs: count, reason });
}

/**
 * The last step of everyone who files or moves a job: look at the clock, and send what the sweep may already
 * have passed. What SQS does not take now gets a look that the next sweeps reach; whether it is refused for
 * good, the sweep decides.
 */
export async function sendIfNear(ctx: Context, homes: readonly Home[]): Promise<void> {
  const near = homes.filter((home) => isNear(home.dueAt, ctx.clock()));
  if (near.length === 0) return;
  const outcomes = await send(ctx, near);
  const unsent = near.filter((home) => outcomes.get(home.id)?.outcome !== "sent");
  const now = ctx.clock();
  await fileLooks(
    ctx,
    unsent.map((home) => ({ id: home.id, time: now + RETRY_LOOK_AFTER })),
    now + WRITER_DEADLINE,
  );
}

/** Files looks; one that is there already is one's own earlier effect, or as good. */
export async function fileLooks(
  ctx: Context,
  looks: readonly { id: string; time: number }[],
  by: number,
): Promise<void> {
  if (looks.length === 0) return;
  const items = new Map(looks.map(({ id, time }) => [`${id} ${time}`, lookAt(id, time)]));
  for (const outcome of await ctx.pool.insert([...items.values()], by))
    if (outcome instanceof Error) throw outcome;
}
