import type { Client, Duration, Instant, Job } from "../client/client.ts";
import { clientInside } from "../client/client-inside.ts";
import { receiverSecret } from "../consumer/webhook/receiver-secret.ts";
import { parseEvent, rulesFor } from "../core/event-rules.ts";
import { type Home, minuteOf } from "../core/items.ts";
import { drawToken } from "../core/job-id.ts";
import { parseOccurrence } from "../core/occurrence.ts";
import { SIZES } from "../core/work-sizes.ts";
import { parseDuration } from "../general/durations.ts";
import { parseInstant } from "../general/instant.ts";
import { jobOf } from "../http/job-json.ts";
import { routes } from "../http/route-table.ts";
import { applyRule } from "../protocol/file/apply-rule.ts";
import { fileOccurrence } from "../protocol/file/recurring.ts";
import { tick } from "../protocol/hand-over/tick.ts";
import type { Context } from "../protocol/ports.ts";
import { checkOptions } from "./check-options.ts";
import { deliverer, type Run, throwTrouble } from "./deliver.ts";
import { memoryPool } from "./memory-pool.ts";
import { memoryQueues } from "./memory-queues.ts";
import { memorySchedules } from "./memory-schedules.ts";
import { paceOf } from "./pace.ts";
import { seededBytes } from "./random.ts";
import { receiveNow } from "./receive.ts";
import { rulesOf, type TestTopics, testPolicy, WEBHOOK_SECRET } from "./topics.ts";
import { nextDelivery, nextOccurrences, nextTick } from "./upcoming.ts";

export type { Run } from "./deliver.ts";
export type { Receiver, TestTopic, TestTopics } from "./topics.ts";

export type TestQueueOptions<Topics> = {
  readonly topics: TestTopics<Topics>;
  /** What time it is at first; 2026-01-01T00:00:00Z by default. */
  readonly now?: Instant;
  /** Of all that is drawn, such as ids; 1 by default. */
  readonly seed?: number;
  /** How long a handler may run, ms of the real clock; 5,000 by default. */
  readonly handlerTimeout?: number;
};

/** An event as a bus of EventBridge would bring it. */
export type TestEvent = { readonly source: string; readonly detailType: string; readonly detail: object };

/** The whole queue in memory, on a clock that only `advance` moves. */
export type TestQueue<Topics> = {
  /** As users have it, but `receive` waits for nobody. */
  readonly client: Client<Topics>;
  now(): Date;
  /**
   * Lets so much time pass, and runs all that falls due on the way, in its order, with retries; 0: what is due now.
   * Throws when a handler does not end or lets no time pass, and what the deployed queue would log as trouble, as nothing
   * fails here by chance; handlers cannot call it.
   */
  advance(duration: Duration): Promise<void>;
  /**
   * An event comes, and does what the topics' `cancelOn` and `enqueueOn` say. Throws what keeps it from that at one of them,
   * when it has been told to all. It happens at the clock's time in whole seconds, as EventBridge counts: of two within a
   * second the one that cancels is the later one, so let time pass between what cancels a job and what files the next.
   */
  publish(event: TestEvent): Promise<void>;
  /** The secret by which the receiver of a URL verifies its calls. */
  receiverSecret(url: string): string;
  /** All jobs that are stored, by their due times. */
  jobs(topic?: keyof Topics & string): Job[];
  /** All runs of handlers and calls of receivers so far. */
  runs(): readonly Run[];
};

const START = Date.UTC(2026, 0, 1);
/** ms that a tick may take; the clock stands still meanwhile. */
const TICK_TIME = 150_000;

/** Throws a RangeError for options that make no sense. */
export function createTestQueue<Topics>(options: TestQueueOptions<Topics>): TestQueue<Topics> {
  checkOptions(options);
  let time = startOf(options.now);
  let lastTick = time;
  const clock = (): number => time;
  const topics = Object.keys(options.topics);
  const pool = memoryPool({ clock });
  const queues = memoryQueues({ clock, topics });
  const schedules = memorySchedules({ clock });
  /** Those whose ready queues Lambda is to leave alone. */
  const idle = new Set<string>();
  const ctx: Context = {
    pool,
    queues,
    schedules,
    eventSources: {
      enable: async (topic, enabled) => void (enabled ? idle.delete(topic) : idle.add(topic)),
    },
    clock,
    random: seededBytes(options.seed ?? 1),
    policy: testPolicy(options.topics),
    sizes: SIZES,
    report: throwTrouble,
  };
  const rules = rulesOf(options.topics);
  const inside = clientInside<Topics>(ctx, console, routes);
  const client: Client<Topics> = {
    ...inside,
    receive: (topic, request) =>
      receiveNow({ queues, topic, now: time }, (asked) => inside.receive(topic, asked), request),
  };
  const { consumed, deliver, runs } = deliverer(ctx, queues, options.topics, options.handlerTimeout);
  const starts = new Map<string, number>();
  const waiting = (): number => consumed.reduce((sum, topic) => sum + queues.messages({ topic }).length, 0);

  const runTick = async (): Promise<void> => {
    lastTick = time;
    await tick(ctx, time + TICK_TIME);
  };
  /** Does what comes next, if it comes by `end`. */
  const step = async (end: number): Promise<boolean> => {
    const ticking = await nextTick(ctx, pool, lastTick);
    const occurring = await nextOccurrences(ctx);
    const polled = consumed.filter((topic) => !idle.has(topic));
    const delivery = nextDelivery(queues, polled, starts);
    const next = Math.min(
      ...[ticking, occurring, delivery].map((one) => one?.time ?? Number.POSITIVE_INFINITY),
    );
    if (next > end) return false;
    time = Math.max(time, next);
    // First, as the next ones are those after the clock's time.
    if (occurring?.time === next) {
      for (const name of occurring.names) {
        await fileOccurrence(ctx, parseOccurrence(schedules.inputOf(name, next)));
      }
    } else if (ticking?.time === next) await runTick();
    else if (delivery) await deliver(delivery.topic, delivery.message);
    return true;
  };

  let advancing = false;
  return {
    client,
    now: () => new Date(time),
    async advance(duration) {
      const ms = parseDuration(duration);
      if (ms === undefined) {
        throw new RangeError(
          `advance takes seconds or a string such as "7d", got ${JSON.stringify(duration)}`,
        );
      }
      if (advancing) {
        throw new Error("advance is under way: handlers cannot call it, and a test must await each call");
      }
      advancing = true;
      try {
        const end = time + ms;
        const pace = paceOf(clock, runs, waiting);
        while (await step(end)) await pace();
        // So that depths and lags are told as they are by then.
        if (minuteOf(end) > lastTick) {
          time = Math.max(time, minuteOf(end));
          await runTick();
        }
        time = end;
      } finally {
        advancing = false;
      }
    },
    async publish({ source, detailType, detail }) {
      const id = drawToken(ctx.random);
      const at = new Date(time - (time % 1000));
      const event = parseEvent(JSON.stringify({ id, source, "detail-type": detailType, time: at, detail }));
      const errors: unknown[] = [];
      for (const rule of rulesFor(rules, event))
        await applyRule(ctx, rule, event).catch((error) => errors.push(error));
      if (errors.length > 0) throw errors[0];
    },
    receiverSecret: (url) => receiverSecret(WEBHOOK_SECRET, url),
    jobs(topic) {
      const homes = pool.items().filter((item): item is Home => "body" in item);
      const wanted = homes.filter((home) => topic === undefined || home.topic === topic);
      return wanted.sort((a, b) => a.dueAt - b.dueAt).map((home) => jobOf(ctx, home));
    },
    runs: () => [...runs],
  };
}

function startOf(now: Instant = new Date(START)): number {
  const time = typeof now === "string" ? parseInstant(now) : new Date(now).getTime();
  if (time === undefined || Number.isNaN(time))
    throw new RangeError(`now must be a Date or ISO 8601, got ${JSON.stringify(now)}`);
  return time;
}
