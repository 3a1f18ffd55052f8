import { CLOCK_MARGIN, EVENT_AFTER } from "../../core/constants.ts";
import { MinutehandError, untrackedTopic } from "../../core/errors.ts";
import { type BusEvent, bodyIn, type EventRule, keyIn } from "../../core/event-rules.ts";
import { bodyText } from "../../core/json.ts";
import { cancelByEvent } from "../change/cancel-by-event.ts";
import type { NewJob } from "../new-job.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { enqueue } from "./enqueue.ts";

/**
 * Applies a topic's rule to an event: cancels the job of the event's key, or files a job under that key. A second delivery changes nothing.
 * @throws `untracked-topic`; `bad-request` or `too-large`: the event has no key or body that a job can have; `job-running`; and as
 * `enqueue`
 */
export async function applyRule(ctx: Context, rule: EventRule, event: BusEvent): Promise<void> {
  const { topic } = rule;
  if (policyOf(ctx, topic).tracking === "none") throw untrackedTopic(topic, "an event rule");
  const key = keyIn(event, rule);
  const now = ctx.clock();
  // An event's sender may give any time. A time in the future counts as now, but not within `CLOCK_MARGIN`: this process's clock may be
  // behind, and then each delivery of the event would use another time.
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
    onDuplicate: rule.onDuplicate,
    ...(rule.maxDelay === undefined ? {} : { maxDelay: rule.maxDelay * 1000 }),
    // rule: event-files-once
    // No Idempotency-Key of a caller equals this token: callers' keys are printable ASCII, and `§` is not.
    once: { token: `§event§${event.id}§${key}`, hash: "event", lasts: EVENT_AFTER },
  };
  try {
    await enqueue(ctx, job);
  } catch (error) {
    // An earlier delivery has filed the job, and its retention is over.
    if (!(error instanceof MinutehandError && error.code === "job-not-found")) throw error;
  }
}
