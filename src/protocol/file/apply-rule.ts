import { actorOf } from "../../core/actor.ts";
import { EVENT_AFTER, EVENT_AHEAD } from "../../core/constants.ts";
import { MinutehandError, untrackedTopic } from "../../core/errors.ts";
import { bodyText } from "../../core/json.ts";
import type { Applied } from "../../core/rule-effects.ts";
import { type BusEvent, bodyIn, type EventRule, keyIn } from "../../settings/event-rules.ts";
import { cancelByEvent } from "../change/cancel-by-event.ts";
import type { NewJob } from "../new-job.ts";
import { actingFor, policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { enqueue } from "./enqueue.ts";

/** Answers what it did. A second delivery changes nothing. @throws `untracked-topic`; `bad-request` or `too-large`: no key or body for a job; as `enqueue` */
export async function applyRule(ctx: Context, rule: EventRule, event: BusEvent): Promise<Applied> {
  const acting = actingFor(ctx, () => actorOf("event", { name: event.id }));
  const { topic } = rule;
  if (policyOf(ctx, topic).tracking === "none") throw untrackedTopic(topic, "an event rule");
  const key = keyIn(event, rule);
  const now = ctx.clock();
  // A time in the future counts as now, but not if this clock may just be behind: each delivery would use another time.
  const at = event.time > now + EVENT_AHEAD ? now : event.time;
  if (rule.do === "cancel") {
    return cancelByEvent(acting, { id: event.id, topic, key, at, until: at + rule.tombstone * 1000 });
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
    const { outcome, home } = await enqueue(acting, job);
    return { did: home.state === "cancelled" && outcome !== "replayed" ? "cancelled" : outcome, id: home.id };
  } catch (error) {
    // An earlier delivery has filed the job, and its retention is over.
    if (!(error instanceof MinutehandError && error.code === "job-not-found")) throw error;
    return { did: "replayed" };
  }
}
