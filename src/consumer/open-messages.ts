import { SQS_BATCH_ENTRIES } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { type Message, type MessageJob, newestRevisions, startOf } from "../core/message.ts";
import { hideSecondsOf } from "../core/packs.ts";
import { inParallel } from "../general/batches.ts";
import type { Context } from "../protocol/ports.ts";
import { openMessage } from "../protocol/run/open-message.ts";
import { redriveEnvelope } from "../protocol/run/redrive-envelope.ts";

export type Delivery = {
  messageId: string;
  handle: string;
  body: string;
  /** Including this time. Absent: once. */
  receives?: number;
  /** From then on SQS may deliver the message again, ms since the epoch. Absent: unknown. */
  visibleAt?: number;
};

export type Work = { job: MessageJob; topic: string; group: string | undefined; delivery: Delivery };

export type Aside = { topic: string; delivery: Delivery; ms: number };

/**
 * Answers the jobs in the order of their starts, each once, from its newest message. Redrives the jobs of dead letters, and hides early and
 * newer messages. `kept`: the ids of messages that SQS must keep.
 */
export async function openMessages(
  ctx: Context,
  deliveries: readonly Delivery[],
): Promise<{ work: Work[]; kept: Set<string> }> {
  const kept = new Set<string>();
  const found = deliveries.map((delivery) => {
    const opened = openDelivery(ctx, delivery);
    if (opened.stays) kept.add(delivery.messageId);
    return { delivery, ...opened };
  });
  await Promise.all([
    putAside(
      ctx,
      found.flatMap(({ aside = [] }) => aside),
    ),
    // Other jobs wait for these letters.
    inParallel(
      found.flatMap(({ letter, delivery }) => (letter ? { letter, delivery } : [])),
      SQS_BATCH_ENTRIES,
      async ({ letter, delivery }) => {
        // rule: envelope-redrives-its-job
        if (!(await redriveEnvelope(ctx, letter))) kept.add(delivery.messageId);
      },
    ),
  ]);
  const work = found.flatMap(({ jobs = [] }) => jobs);
  return { work: newestRevisions(work).sort((a, b) => startOf(a.job) - startOf(b.job)), kept };
}

/** `stays`: SQS must keep the message. */
type OpenDelivery = { jobs?: Work[]; letter?: Message; stays?: true; aside?: Aside };

function openDelivery(ctx: Context, delivery: Delivery): OpenDelivery {
  // Lambda was throttled for so long that SQS may have delivered the message to others.
  if (delivery.visibleAt !== undefined && delivery.visibleAt <= ctx.clock()) return { stays: true };
  const opened = openMessage(delivery.body, delivery.receives ?? 1, ctx.clock());
  const unread = (topic: string, error: string): void =>
    trouble(ctx, topic, `reading message ${delivery.messageId}`, error);
  switch (opened.kind) {
    case "jobs": {
      const { topic, group, jobs } = opened.message;
      return { jobs: jobs.map((job) => ({ job, topic, group, delivery })) };
    }
    case "dead-letter":
      return { letter: opened.message };
    case "early":
      return { stays: true, aside: { topic: opened.message.topic, delivery, ms: opened.hideFor } };
    case "newer":
      unread(opened.topic, opened.error);
      return { stays: true, aside: { topic: opened.topic, delivery, ms: opened.hideFor } };
    case "foreign":
      unread("", "Minutehand did not send it");
      return { stays: true };
  }
}

/** How long each try takes at most, ms: it is short, because the jobs of other messages wait. */
const ASIDE_PATIENCE = 1000;

/** If SQS does not hide them in time, the messages come back when their visibility timeouts are over. */
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

/** If SQS does not delete them, Lambda does when the function has answered. */
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
