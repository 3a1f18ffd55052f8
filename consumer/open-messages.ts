import { SQS_BATCH_ENTRIES } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { type Message, type MessageJob, newestRevisions, startOf } from "../core/message.ts";
import { hideSecondsOf } from "../core/packs.ts";
import { inParallel } from "../general/batches.ts";
import type { Context } from "../protocol/ports.ts";
import { openMessage } from "../protocol/run/open-message.ts";
import { redriveEnvelope } from "../protocol/run/redrive-envelope.ts";

/** A message as SQS delivered it. */
export type Delivery = {
  messageId: string;
  handle: string;
  body: string;
  /** How often SQS has delivered the message, this time included. Absent: once. */
  receives?: number;
  /** From when on SQS may deliver the message again, ms since the epoch. Absent: unknown. */
  visibleAt?: number;
};

/** A job to run, and the message that carries the job. */
export type Work = { job: MessageJob; topic: string; group: string | undefined; delivery: Delivery };

/**
 * Opens messages, and answers their jobs in the order of their starts. Each job comes once, from its newest message. Redrives the jobs of
 * dead letters. Hides messages that are early or that a newer version sent. The ids of messages that SQS must keep are added to `kept`.
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
      // Lambda was throttled for so long that SQS may have delivered the message to others by now.
      kept.add(delivery.messageId);
      continue;
    }
    const receives = delivery.receives ?? 1;
    const opened = openMessage(delivery.body, receives, ctx.clock());
    const unread = (topic: string, error: string): void =>
      trouble(ctx, topic, `reading message ${delivery.messageId}`, error);
    switch (opened.kind) {
      case "jobs": {
        const { topic, group, jobs } = opened.message;
        work.push(...jobs.map((job) => ({ job, topic, group, delivery })));
        break;
      }
      case "dead-letter":
        letters.push({ message: opened.message, messageId: delivery.messageId });
        break;
      case "early":
        kept.add(delivery.messageId);
        aside.push({ topic: opened.message.topic, delivery, ms: opened.hideFor });
        break;
      case "newer":
        kept.add(delivery.messageId);
        unread(opened.topic, opened.error);
        aside.push({ topic: opened.topic, delivery, ms: opened.hideFor });
        break;
      case "foreign":
        kept.add(delivery.messageId);
        unread("", "Minutehand did not send it");
    }
  }
  await Promise.all([
    putAside(ctx, aside),
    // In parallel, because other jobs wait for these letters.
    inParallel(letters, SQS_BATCH_ENTRIES, async ({ message, messageId }) => {
      // rule: envelope-redrives-its-job
      if (!(await redriveEnvelope(ctx, message))) kept.add(messageId);
    }),
  ]);
  return newestRevisions(work).sort((a, b) => startOf(a.job) - startOf(b.job));
}

/** A message that SQS is to hide for `ms`. */
export type Aside = { topic: string; delivery: Delivery; ms: number };

/** How many ms each try to hide messages may take. The limit is short, because the jobs of other messages wait. */
const ASIDE_PATIENCE = 1000;

/** Hides messages. If SQS does not take the call in time, the messages come back when their visibility timeouts are over. */
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

/** Deletes messages before the function answers. If SQS does not delete them, Lambda does when the function has answered. */
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
