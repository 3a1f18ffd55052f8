import type { Duration } from "../client/options.ts";
import type { Consumer } from "../consumer/consumer.ts";
import { type JobHandler, runWith } from "../consumer/run-handler.ts";
import type { RunJob } from "../consumer/run-jobs.ts";
import type { Call, Reply } from "../consumer/webhook/call.ts";
import { webhookRun } from "../consumer/webhook/run.ts";
import { brokenIn, type Check } from "../core/check.ts";
import { windowFault } from "../cron/window.ts";
import { secondsIn } from "../general/times.ts";
import type { Context } from "../protocol/ports.ts";
import { eventChecks } from "../settings/event-checks.ts";
import type { EventRule } from "../settings/event-rules.ts";
import { eventRulesOf } from "../settings/event-settings.ts";
import { formChecks } from "../settings/form-checks.ts";
import {
  configuredPolicy,
  DEFAULT_DEAD_RETENTION_S,
  DEFAULT_RETENTION_S,
  type Policy,
  type TopicPolicy,
} from "../settings/policy.ts";
import { topicChecks } from "../settings/topic-checks.ts";
import { inSeconds, type TopicSettings } from "../settings/topic-settings.ts";
import { shown } from "./check-options.ts";

/** Answers a webhook call in place of the network. If it throws, the call counts as one that did not reach its receiver. */
export type Receiver = (call: Call) => Reply | Promise<Reply>;

/**
 * A topic with the settings of the construct, except that it takes no `Duration` of the CDK. It has exactly one of these: a
 * `handler`; `consumer: "pull"`, for jobs that the test takes by `receive`; or a `webhook`, with a `receiver` that answers its calls.
 * `precision`, `pack`, `concurrency`, `maximumConcurrency`, `pollers`, `oldestMessageAge`, `alarms` and the `timeout` of `webhook` are
 * checked, but change nothing in a test.
 */
export type TestTopic<Body> = TopicSettings<Duration> & {
  /** The function that runs the jobs, or the result of `consumer(…)` for it. */
  readonly handler?: JobHandler<Body> | Pick<Consumer<Body>, "jobHandler">;
  readonly receiver?: Receiver;
};

export type TestTopics<Topics> = { readonly [T in keyof Topics & string]: TestTopic<Topics[T]> };

/** Topics whose bodies have any types. */
export type AnyTopics = Readonly<Record<string, TestTopic<never>>>;

/** The secret that signs the calls of all webhook topics. */
export const WEBHOOK_SECRET = "whsec_bWludXRlaGFuZC10ZXN0cy1hbmQtbm9ib2R5LWVsc2U=";

/** The topics are those of a `testPolicy`, which has checked their durations. */
export function rulesOf(topics: AnyTopics): EventRule[] {
  return Object.entries(topics).flatMap(([name, topic]) => eventRulesOf(name, topic, secondsIn));
}

/** Throws a `RangeError` for a topic that the construct would refuse. */
export function testPolicy(topics: AnyTopics): Policy {
  const named = Object.entries(topics).map(([name, topic]) => [name, settingsOf(name, topic)] as const);
  return {
    shards: 1,
    retention: DEFAULT_RETENTION_S,
    deadRetention: DEFAULT_DEAD_RETENTION_S,
    topics: Object.fromEntries(named),
  };
}

function settingsOf(name: string, topic: TestTopic<never>): Partial<TopicPolicy> {
  const { handler, receiver, ...settings } = topic;
  const { consumer, webhook } = settings;
  const called = webhook !== undefined || receiver !== undefined;
  const ways = [handler !== undefined, consumer === "pull", called].filter(Boolean);
  if (ways.length !== 1 || (called && !(webhook && receiver))) {
    const allowed = 'a handler, or consumer "pull", or a webhook with a receiver';
    throw new RangeError(`topic ${name} must have exactly one way to run its jobs: ${allowed}`);
  }
  refuse(formChecks(`topics.${name}`, topic));
  const events = eventChecks(`topics.${name}`, topic, { secondsOf: secondsIn, isKnown: () => true });
  refuse([...topicChecks(name, inSeconds(settings, secondsIn), windowFault), ...events]);
  return {
    ...configuredPolicy(settings, secondsIn),
    // Put one job into each message, and run one job at a time. So each job starts when it is due, in the order of due times.
    pack: 1,
    concurrency: 1,
    precision: consumer === "pull" ? "second" : "millisecond",
  };
}

function refuse(checks: readonly Check[]): void {
  const broken = brokenIn(checks, shown);
  if (broken.length > 0) throw new RangeError(broken.join("\n"));
}

/** The function that runs the jobs of a topic; `undefined` for a pull topic. */
export function runOf(ctx: Context, { handler, receiver }: TestTopic<never>): RunJob | undefined {
  if (handler) return runWith("jobHandler" in handler ? handler.jobHandler : handler);
  return receiver && webhookRun(ctx, { secrets: [WEBHOOK_SECRET], post: async (call) => receiver(call) });
}
