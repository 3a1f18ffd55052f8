import { HOLD } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import {
  type MessageJob,
  newerMessage,
  newestOf,
  parseMessage,
  startOf,
  unreadableSeconds,
} from "../core/message.ts";
import { hideSecondsOf } from "../core/packs.ts";
import type { Context } from "../protocol/ports.ts";
import { redriveEnvelope } from "../protocol/redrive-envelope.ts";

/** A message as SQS delivered it. `receives`: how often SQS has delivered it, this time included; absent: once. */
export type Delivery = { messageId: string; handle: string; body: string; receives?: number };

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
  for (const delivery of deliveries) {
    const message = parseMessage(delivery.body);
    if (!message) {
      const newer = newerMessage(delivery.body);
      const error = newer?.error ?? "it is none of ours";
      trouble(ctx, newer?.topic ?? "", `reading message ${delivery.messageId}`, error);
      // maxReceiveCount takes it to the DLQ, where people look. A newer version's outlives a rollback of a day before.
      kept.add(delivery.messageId);
      const seconds = unreadableSeconds(delivery.receives ?? 1);
      if (newer) await putAside(ctx, newer.topic, delivery, seconds * 1000);
      continue;
    }
    const { topic, group, jobs } = message;
    if (message.dead) {
      if (!(await redriveEnvelope(ctx, message))) kept.add(delivery.messageId);
      continue;
    }
    const early = Math.min(...jobs.map(startOf)) - ctx.clock();
    if (jobs.length > 0 && early >= HOLD) {
      kept.add(delivery.messageId);
      await putAside(ctx, topic, delivery, early);
      continue;
    }
    work.push(...jobs.map((job) => ({ job, topic, group, delivery })));
  }
  return newestOf(work).sort((a, b) => startOf(a.job) - startOf(b.job));
}

/** Makes a message invisible for `ms`. If SQS does not, its visibility timeout brings it back all the same. */
export async function putAside(ctx: Context, topic: string, { handle }: Delivery, ms: number): Promise<void> {
  try {
    await ctx.queues.hide({ topic }, [{ handle, seconds: Math.max(hideSecondsOf(ms), 1) }]);
  } catch (error) {
    trouble(ctx, topic, "hiding a message", messageOf(error));
  }
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
