import { HELD_BY_CONSUMER, SQS_BATCH_ENTRIES } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import {
  type Message,
  type MessageJob,
  newerMessage,
  newestOf,
  parseMessage,
  startOf,
  unreadableSeconds,
} from "../core/message.ts";
import { hideSecondsOf } from "../core/packs.ts";
import { inParallel } from "../general/batches.ts";
import type { Context } from "../protocol/ports.ts";
import { redriveEnvelope } from "../protocol/run/redrive-envelope.ts";

/**
 * A message as SQS delivered it. `receives`: how often SQS has delivered it, this time included; absent: once. `visibleAt`: when
 * SQS delivers it again, ms since the epoch; absent: nobody knows.
 */
export type Delivery = {
  messageId: string;
  handle: string;
  body: string;
  receives?: number;
  visibleAt?: number;
};

/** A job to run, and the message it came in. */
export type Work = { job: MessageJob; topic: string; group: string | undefined; delivery: Delivery };

/**
 * The jobs in these messages, by their starts, each once, by its newest message. What cannot be run now is dealt with;
 * what SQS must keep is added to `kept`.
 */
export async function openMessages(
  ctx: Context,
  deliveries: readonly Delivery[],
  kept: Set<string>,
): Promise<Work[]> {
  const work: Work[] = [];
  const aside: Aside[] = [];
  const letters: { message: Message; messageId: string }[] = [];
  for (const delivery of deliveries) {
    if (delivery.visibleAt !== undefined && delivery.visibleAt <= ctx.clock()) {
      // Lambda was throttled for so long that others have it by now.
      kept.add(delivery.messageId);
      continue;
    }
    const message = parseMessage(delivery.body);
    if (!message) {
      const newer = newerMessage(delivery.body);
      const error = newer?.error ?? "it is none of ours";
      trouble(ctx, newer?.topic ?? "", `reading message ${delivery.messageId}`, error);
      // maxReceiveCount takes it to the DLQ, where people look. A newer version's outlives a rollback of a day before.
      kept.add(delivery.messageId);
      const seconds = unreadableSeconds(delivery.receives ?? 1);
      if (newer) aside.push({ topic: newer.topic, delivery, ms: seconds * 1000 });
      continue;
    }
    const { topic, group, jobs } = message;
    if (message.dead) {
      letters.push({ message, messageId: delivery.messageId });
      continue;
    }
    const early = Math.min(...jobs.map(startOf)) - ctx.clock();
    if (jobs.length > 0 && early >= HELD_BY_CONSUMER) {
      kept.add(delivery.messageId);
      aside.push({ topic, delivery, ms: early });
      continue;
    }
    work.push(...jobs.map((job) => ({ job, topic, group, delivery })));
  }
  await Promise.all([
    putAside(ctx, aside),
    // Together, as other jobs wait for them.
    inParallel(letters, SQS_BATCH_ENTRIES, async ({ message, messageId }) => {
      // rule: envelope-redrives-its-job
      if (!(await redriveEnvelope(ctx, message))) kept.add(messageId);
    }),
  ]);
  return newestOf(work).sort((a, b) => startOf(a.job) - startOf(b.job));
}

/** A message that is to be invisible for `ms`. */
export type Aside = { topic: string; delivery: Delivery; ms: number };

/** ms of each try: the jobs of other messages wait for it. */
const ASIDE_PATIENCE = 1000;

/** Makes messages invisible. Those of which SQS does not know in time their visibility timeouts bring back all the same. */
export async function putAside(ctx: Context, aside: readonly Aside[]): Promise<void> {
  const byTopic = [...Map.groupBy(aside, ({ topic }) => topic)];
  await inParallel(byTopic, byTopic.length, async ([topic, some]) => {
    const hidden = some.map(({ delivery: { handle }, ms }) => {
      return { handle, seconds: Math.max(hideSecondsOf(ms), 1) };
    });
    try {
      await ctx.queues.hide({ topic }, hidden, ASIDE_PATIENCE);
    } catch (error) {
      trouble(ctx, topic, "hiding messages", messageOf(error));
    }
  });
}

/** Deletes messages before the process ends. If SQS does not, Lambda does when the process has lived to say so. */
export async function deleteMessages(
  ctx: Context,
  topic: string,
  deliveries: Iterable<Delivery>,
): Promise<void> {
  try {
    await ctx.queues.remove(
      { topic },
      Array.from(deliveries, ({ handle }) => handle),
    );
  } catch (error) {
    trouble(ctx, topic, "deleting messages", messageOf(error));
  }
}

function trouble(ctx: Context, topic: string, what: string, error: string): void {
  ctx.report({ type: "trouble", topic, what, error });
}
