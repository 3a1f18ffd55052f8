import { bodyText } from "../../core/body-text.ts";
import { CLOCK_MARGIN, EVENT_AFTER } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { type BusEvent, bodyIn, type EventRule, keyIn } from "../../core/event-rules.ts";
import { cancelByEvent } from "../change/cancel-by-event.ts";
import type { NewJob } from "../new-job.ts";
import type { Context } from "../ports.ts";
import { enqueue } from "./enqueue.ts";

/**
 * Does what a topic says about an event, and nothing more when it is told again. Times count from when the event happened.
 * Throws `bad-request` or `too-large` for an event that has no key or body a job can have, `job-running`, and
 * else as `enqueue`.
 */
export async function applyRule(ctx: Context, rule: EventRule, event: BusEvent): Promise<void> {
  const { topic } = rule;
  const key = keyIn(event, rule);
  const now = ctx.clock();
  // Its sender may say any time; but by a clock that is behind it would count from another each time that it is told.
  const at = event.time > now + CLOCK_MARGIN ? now : event.time;
  if (rule.do === "cancel") {
    await cancelByEvent(ctx, { id: event.id, topic, key, at, until: at + rule.tombstone * 1000 });
    return;
  }
  const job: NewJob = {
    topic,
    key,
    body: bodyText(bodyIn(event, rule)),
    dueAt: at + rule.delay * 1000,
    createdAt: at,
    eventAt: event.time,
    onDuplicate: rule.onDuplicate,
    ...(rule.maxDelay === undefined ? {} : { maxDelay: rule.maxDelay * 1000 }),
    // rule: event-files-once
    // As of an occurrence: no Idempotency-Key of a caller is the same.
    once: { token: `§event§${event.id}§${key}`, hash: "event", lasts: EVENT_AFTER },
  };
  try {
    await enqueue(ctx, job);
  } catch (error) {
    // It was told before, and its job's retention is over.
    if (!(error instanceof MinutehandError && error.code === "job-not-found")) throw error;
  }
}
