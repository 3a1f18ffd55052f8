import { RETRY_LOOK_AFTER, WRITER_DEADLINE } from "../core/constants.ts";
import { isNear, startsAt } from "../core/home.ts";
import { type Home, lookAt } from "../core/items.ts";
import { delaySecondsOf, type Pack, packsOf } from "../core/packs.ts";
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
  const packed = await sendPacks(ctx, topic, policy, packsOf(topic, policy, homes));
  // What SQS refuses in one job's text is no fault of its mates: those go alone.
  const refused = packed.filter(({ pack, sent }) => sent.outcome === "refused" && pack.homes.length > 1);
  const mates = refused.flatMap(({ pack }) => pack.homes);
  const alone = await sendPacks(ctx, topic, policy, packsOf(topic, { ...policy, pack: 1 }, mates));
  const refusals = new Map<string, number>();
  let jobs = 0;
  let messages = 0;
  for (const { pack, sent } of [...packed.filter((one) => !refused.includes(one)), ...alone]) {
    for (const home of pack.homes) outcomes.set(home.id, sent);
    if (sent.outcome === "sent") {
      jobs += pack.homes.length;
      messages += 1;
    } else refusals.set(sent.reason, (refusals.get(sent.reason) ?? 0) + pack.homes.length);
  }
  if (jobs > 0) ctx.report({ type: "handed-over", topic, jobs, messages });
  for (const [reason, count] of refusals)
    ctx.report({ type: "hand-over-failed", topic, jobs: count, reason });
}

async function sendPacks(
  ctx: Context,
  topic: string,
  { precision }: TopicPolicy,
  packs: readonly Pack[],
): Promise<{ pack: Pack; sent: Sent }[]> {
  const now = ctx.clock();
  const messages = packs.map(
    ({ body, start, group }): Outgoing => ({
      body,
      delaySeconds: delaySecondsOf(start, now, precision),
      ...(group === undefined ? {} : { group }),
    }),
  );
  const sent = await ctx.queues.send({ topic }, messages);
  return packs.map((pack, i) => {
    return { pack, sent: sent[i] ?? { outcome: "failing", reason: "no answer for this message" } };
  });
}

/**
 * The last step of everyone who files or moves a job: look at the clock, and send what the sweep may already
 * have passed. What SQS does not take now gets a look that the next sweeps reach; whether it is refused for
 * good, the sweep decides.
 */
export async function sendIfNear(ctx: Context, homes: readonly Home[]): Promise<void> {
  const near = homes.filter((home) => isNear(startsAt(home), ctx.clock()));
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
