import { brokenIn } from "../core/check.ts";
import { parseDuration } from "../core/durations.ts";
import type { EventRule } from "../core/event-rules.ts";
import { type EventSettings, eventRulesOf, heedsTombstones } from "../core/event-settings.ts";
import type { Policy, TopicPolicy, WebhookPolicy } from "../core/policy.ts";
import { type TopicSettings, topicChecks } from "../core/topic-checks.ts";
import { isWindow } from "../cron/window.ts";
import type { Context } from "../protocol/ports.ts";
import type { Duration } from "../sdk/client.ts";
import type { Consumer } from "../sdk/consumer.ts";
import { type JobHandler, runWith } from "../sdk/run-handler.ts";
import type { RunJob } from "../sdk/run-jobs.ts";
import type { Call, Reply } from "../webhook/call.ts";
import { webhookRun } from "../webhook/run.ts";
import { shown } from "./check-options.ts";

/** What stands for the network: what a webhook's receiver answers to a call. One that throws could not be reached. */
export type Receiver = (call: Call) => Reply | Promise<Reply>;

/**
 * A topic as the construct has it, its durations in seconds or such as `"30s"`. It has a `handler`, or callers of
 * `receive` (`consumer: "pull"`), or a `receiver` of its webhook's calls.
 */
export type TestTopic<Body> = Pick<
  Partial<TopicPolicy>,
  "tracking" | "maxPerSecond" | "window" | "backoff" | "maxAttempts"
> &
  EventSettings<Duration> & {
    /** What runs its jobs, or what `consumer` has made of it. */
    readonly handler?: JobHandler<Body> | Consumer<Body>;
    readonly consumer?: "lambda" | "pull";
    readonly ttr?: Duration;
    readonly spread?: Duration;
    readonly ifLate?: { readonly after: Duration; readonly do: "run" | "skip" | "expire" };
    readonly webhook?: Pick<Partial<WebhookPolicy>, "url" | "allowHttp" | "allowHosts">;
    readonly receiver?: Receiver;
  };

export type TestTopics<Topics> = { readonly [T in keyof Topics & string]: TestTopic<Topics[T]> };

const DAY_S = 86_400;
/** What signs the calls of all webhook topics here. */
export const WEBHOOK_SECRET = "whsec_bWludXRlaGFuZC10ZXN0cy1hbmQtbm9ib2R5LWVsc2U=";

/** What the topics say about events. Throws a RangeError for what is no duration. */
export function rulesOf(topics: Readonly<Record<string, TestTopic<never>>>): EventRule[] {
  return Object.entries(topics).flatMap(([name, topic]) => topicRules(name, topic));
}

function topicRules(name: string, topic: EventSettings<Duration>): EventRule[] {
  return eventRulesOf(name, topic, (duration: Duration) => secondsOf(`${name}'s events`, duration));
}

/** Throws a RangeError for a topic that the construct would not take. */
export function policyOf(topics: Readonly<Record<string, TestTopic<never>>>): Policy {
  const named = Object.entries(topics).map(([name, topic]) => [name, settingsOf(name, topic)] as const);
  return { shards: 1, retention: 7 * DAY_S, deadRetention: 90 * DAY_S, topics: Object.fromEntries(named) };
}

function settingsOf(name: string, topic: TestTopic<never>): Partial<TopicPolicy> {
  const { handler, receiver, consumer, webhook, ttr, spread, ifLate, ...others } = topic;
  const { cancelOn: _cancelOn, enqueueOn: _enqueueOn, ...same } = others;
  const called = webhook !== undefined || receiver !== undefined;
  const ways = [handler !== undefined, consumer === "pull", called].filter(Boolean);
  if (ways.length !== 1 || (called && !(webhook && receiver))) {
    const allowed = 'a handler, or consumer "pull", or a webhook with a receiver';
    throw new RangeError(`topic ${name} must have one way to run its jobs: ${allowed}`);
  }
  const settings: TopicSettings = {
    ...same,
    ...(consumer && { consumer }),
    ...(webhook && { webhook }),
    ...(ttr === undefined ? {} : { ttr: secondsOf(`${name}.ttr`, ttr) }),
    ...(spread === undefined ? {} : { spread: secondsOf(`${name}.spread`, spread) }),
    ...(ifLate && { ifLate: { ...ifLate, after: secondsOf(`${name}.ifLate.after`, ifLate.after) } }),
  };
  const broken = brokenIn(topicChecks(name, settings, isWindow), shown);
  if (broken.length > 0) throw new RangeError(broken.join("\n"));
  const { ifLate: late, ...rest } = settings;
  return {
    ...rest,
    // One job a message and one at a time, so that each starts when it is due, in the order of their due times.
    pack: 1,
    concurrency: 1,
    ...(consumer === "pull" ? {} : { precision: "millisecond" }),
    ...(heedsTombstones(topicRules(name, topic)) && { cancelledByEvents: true }),
    ...(late && late.do !== "run" && { ifLate: { after: late.after, do: late.do } }),
  };
}

function secondsOf(at: string, duration: Duration): number {
  const ms = parseDuration(duration);
  if (ms !== undefined) return ms / 1000;
  throw new RangeError(`${at} must be seconds or a string such as "90s", got ${JSON.stringify(duration)}`);
}

/** What runs the jobs of a topic that is not pulled from. */
export function runOf(ctx: Context, { handler, receiver }: TestTopic<never>): RunJob | undefined {
  if (handler) return runWith("jobHandler" in handler ? handler.jobHandler : handler);
  return receiver && webhookRun(ctx, { secrets: [WEBHOOK_SECRET], post: async (call) => receiver(call) });
}
