import { SQS_BATCH_ENTRIES } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { type Message, type MessageJob, newestOf, startOf } from "../core/message.ts";
import { hideSecondsOf } from "../core/packs.ts";
import { inParallel } from "../general/batches.ts";
import type { Context } from "../protocol/ports.ts";
import { openMessage } from "../protocol/run/open-message.ts";
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
