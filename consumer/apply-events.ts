import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { withWriteDeadline } from "../aws/deadlines.ts";
import { BUCKET, EVENT_WAIT } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { type BusEvent, type EventRule, parseEvent, rulesFor } from "../core/event-rules.ts";
import { createContext, type Environment, requiredVariable } from "../environment/context.ts";
import { createScheduler } from "../environment/scheduler.ts";
import { inParallel } from "../general/batches.ts";
import { applyRule } from "../protocol/file/apply-rule.ts";
import type { Context } from "../protocol/ports.ts";
import { renewedBreaker } from "../protocol/send/circuit-breaker.ts";

/** The Lambda function that receives the events which EventBridge's rules have put into the events' queue. */
export type EventFunction = (event: SQSEvent) => Promise<SQSBatchResponse>;

/** How many events are applied at once: as many as an invocation brings, so that no event waits for an event that hangs. */
const WIDTH = 10;
/**
 * For how many ms each write is tried. Few invocations run at once, and a throttled write would keep one of them from the events of other
 * topics. An event whose write was given up comes again after a minute.
 */
const PATIENCE = 5_000;

/** Makes the Lambda function that applies the topics' rules to events. Reads the rules from the environment. */
export function eventConsumer(environment: Environment = process.env): EventFunction {
  const ctx = { ...createContext(environment), ...createScheduler(environment) };
  const rules = JSON.parse(requiredVariable(environment, "MINUTEHAND_EVENTS")) as EventRule[];
  return eventsOn(ctx, rules, ctx.telemetry.flush);
}

/** Makes the same function from a given context and rules. `done` is called after each invocation. */
export function eventsOn(ctx: Context, rules: readonly EventRule[], done: () => void): EventFunction {
  const pool = withWriteDeadline(ctx.pool, () => ctx.clock() + PATIENCE);
  const queues = renewedBreaker(ctx.queues, ctx.clock, BUCKET);
  return async ({ Records }) => {
    try {
      const bounded = { ...ctx, pool, queues: queues() };
      const applied = await inParallel(Records, WIDTH, (record) => apply(bounded, rules, record));
      const kept = Records.filter((_, i) => !applied[i]);
      return { batchItemFailures: kept.map(({ messageId }) => ({ itemIdentifier: messageId })) };
    } finally {
      done();
    }
  };
}

/**
 * Applies the rules to an event, and answers whether the event's message may be deleted. If a rule fails, SQS delivers the event again.
 * Rules are idempotent, so no rule has an effect twice.
 */
async function apply(ctx: Context, rules: readonly EventRule[], record: SQSRecord): Promise<boolean> {
  let event: BusEvent;
  try {
    event = parseEvent(record.body);
  } catch (error) {
    return failed(ctx, "", "reading an event", error);
  }
  let done = true;
  let runs = false;
  const topics = [...Map.groupBy(rulesFor(rules, event), ({ topic }) => topic).values()];
  // The rules of one topic apply in their order. No topic waits for the queue of another topic.
  await inParallel(topics, topics.length, async (ofTopic) => {
    for (const rule of ofTopic) {
      try {
        await applyRule(ctx, rule, event);
      } catch (error) {
        done = false;
        if (error instanceof MinutehandError && error.code === "job-running") runs = true;
        else failed(ctx, rule.topic, `applying event ${event.id}`, error);
      }
    }
  });
  if (runs) await hide(ctx, record);
  return done;
}

/**
 * Hides an event whose job is running, until the run may have ended. Most runs end long before their lease, so the first wait is short, and
 * each further wait is twice as long. If SQS does not hide the event, it comes back when its visibility timeout is over.
 */
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
