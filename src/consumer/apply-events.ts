import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { withWriteDeadline } from "../aws/deadlines.ts";
import { BUCKET, EVENT_WAIT } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import type { RuleEffect } from "../core/rule-effects.ts";
import { createContext, type Environment, requiredVariable } from "../environment/context.ts";
import { createScheduler } from "../environment/scheduler.ts";
import { inParallel } from "../general/batches.ts";
import { applyRule } from "../protocol/file/apply-rule.ts";
import type { Context } from "../protocol/ports.ts";
import { renewedBreaker } from "../protocol/send/circuit-breaker.ts";
import { type BusEvent, type EventRule, parseEvent, rulesFor } from "../settings/event-rules.ts";

/** Receives the events that EventBridge's rules have put into the events' queue. */
export type EventFunction = (event: SQSEvent) => Promise<SQSBatchResponse>;

/** How many events are applied at once: as many as an invocation brings, so that no event waits for one that hangs. */
const WIDTH = 10;
/** How long each write is tried, ms: a throttled write would keep an invocation from other topics. Its event comes again after a minute. */
const PATIENCE = 5_000;

/** Makes the function that applies events by the topics' rules in the environment. */
export function eventConsumer(environment: Environment = process.env): EventFunction {
  const ctx = { ...createContext(environment), ...createScheduler(environment) };
  const rules = JSON.parse(requiredVariable(environment, "MINUTEHAND_EVENTS")) as EventRule[];
  return eventsOn(ctx, rules, ctx.telemetry.flush);
}

/** `done` is awaited after each invocation. */
export function eventsOn(ctx: Context, rules: readonly EventRule[], done: () => unknown): EventFunction {
  const pool = withWriteDeadline(ctx.pool, () => ctx.clock() + PATIENCE);
  const queues = renewedBreaker(ctx.queues, ctx.clock, BUCKET);
  return async ({ Records }) => {
    try {
      const bounded = { ...ctx, pool, queues: queues() };
      const applied = await inParallel(Records, WIDTH, (record) => apply(bounded, rules, record));
      const kept = Records.filter((_, i) => !applied[i]);
      return { batchItemFailures: kept.map(({ messageId }) => ({ itemIdentifier: messageId })) };
    } finally {
      await done();
    }
  };
}

/** Answers whether the message may be deleted. If a rule fails, SQS delivers the event again: rules are idempotent. */
async function apply(ctx: Context, rules: readonly EventRule[], record: SQSRecord): Promise<boolean> {
  let event: BusEvent;
  try {
    event = parseEvent(record.body);
  } catch (error) {
    return failed(ctx, "", "reading an event", error);
  }
  const topics = [...Map.groupBy(rulesFor(rules, event), ({ topic }) => topic).values()];
  // The rules of a topic are applied in their order. No topic waits for the queue of another.
  const applied = await inParallel(topics, topics.length, async (ofTopic) => {
    const ofRules: RuleEffect[] = [];
    for (const rule of ofTopic) ofRules.push(await applyOne(ctx, rule, event));
    return ofRules;
  });
  const all = applied.flat();
  if (all.length > 0) ctx.report({ type: "event-applied", event: event.id, rules: all });
  if (all.some(({ did }) => did === "waits")) await hide(ctx, record);
  return all.every(({ did }) => did !== "waits" && did !== "failed");
}

async function applyOne(ctx: Context, rule: EventRule, event: BusEvent): Promise<RuleEffect> {
  const name = { topic: rule.topic, rule: rule.do === "cancel" ? "cancelOn" : "enqueueOn" } as const;
  try {
    return { ...name, ...(await applyRule(ctx, rule, event)) };
  } catch (error) {
    if (error instanceof MinutehandError && error.code === "job-running") return { ...name, did: "waits" };
    failed(ctx, rule.topic, `applying event ${event.id}`, error);
    return { ...name, did: "failed", error: messageOf(error) };
  }
}

/** Hides an event whose job is running. Most runs end long before their lease, so each further wait is twice as long as the one before. */
async function hide(ctx: Context, { receiptHandle, attributes }: SQSRecord): Promise<void> {
  const received = Number(attributes.ApproximateReceiveCount);
  const seconds = Math.min(EVENT_WAIT.first * 2 ** (received - 1), EVENT_WAIT.longest) / 1000;
  try {
    await ctx.queues.hide({ events: true }, [{ handle: receiptHandle, seconds }]);
  } catch (error) {
    failed(ctx, "", "hiding an event", error);
  }
}

function failed(ctx: Context, topic: string, what: string, error: unknown): false {
  ctx.report({ type: "trouble", topic, what, error: messageOf(error) });
  return false;
}
