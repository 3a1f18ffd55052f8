import type { Client, Duration, Instant, Job } from "../client/client.ts";
import { receiverSecret } from "../consumer/webhook/receiver-secret.ts";
import { parseEvent, rulesFor } from "../core/event-rules.ts";
import { type Home, minuteOf } from "../core/items.ts";
import { drawToken } from "../core/job-id.ts";
import { parseOccurrence } from "../core/occurrence.ts";
import { SIZES } from "../core/work-sizes.ts";
import { parseDuration } from "../general/durations.ts";
import { parseInstant } from "../general/instant.ts";
import { jobJson } from "../http/job-json.ts";
import { routes } from "../http/route-table.ts";
import { applyRule } from "../protocol/file/apply-rule.ts";
import { fileOccurrence } from "../protocol/file/recurring.ts";
import { tick } from "../protocol/hand-over/tick.ts";
import type { Context } from "../protocol/ports.ts";
import { checkOptions } from "./check-options.ts";
import { clientInside } from "./client-inside.ts";
import { deliverer, type Run, throwTrouble } from "./deliver.ts";
import { memoryPool } from "./memory-pool.ts";
import { memoryQueues } from "./memory-queues.ts";
import { memorySchedules } from "./memory-schedules.ts";
import { paceOf } from "./pace.ts";
import { seededBytes } from "./random.ts";
import { receiveNow } from "./receive.ts";
import { rulesOf, type TestTopics, testPolicy, WEBHOOK_SECRET } from "./topics.ts";
import { earliestOccurrences, nextDelivery, nextTick } from "./upcoming.ts";

export type { Run } from "./deliver.ts";
export type { Receiver, TestTopic, TestTopics } from "./topics.ts";

export type TestQueueOptions<Topics> = {
  /** The topics by name, each with its settings and its handler. */
  readonly topics: TestTopics<Topics>;
  /** The first time of the clock; 2026-01-01T00:00:00Z by default. */
  readonly now?: Instant;
  /** The seed of all random values, such as ids: a whole number, 1 by default. The same seed gives the same run. */
  readonly seed?: number;
  /** How long a handler may run, in ms of the real clock: at least 1, at most 2,147,483,647; 5,000 by default. */
  readonly handlerTimeout?: number;
};

/** An event of an EventBridge bus. */
export type TestEvent = { readonly source: string; readonly detailType: string; readonly detail: object };

/** A whole queue in memory. Only `advance` moves its clock. */
export type TestQueue<Topics> = {
  /** The client of the API. `receive` does not wait, whatever its `waitSeconds`. */
  readonly client: Client<Topics>;
  /** The time of the queue's clock. */
  now(): Date;
  /**
   * Moves the clock forward by `duration`, and runs everything that falls due until then, in order, with retries. With the duration 0
   * it runs everything that is due now.
   *
   * Throws a `RangeError` for an invalid duration. Throws if a handler does not end, or if jobs run without end while no time passes.
   * Throws errors that the deployed queue would log and retry: in memory, nothing fails by chance. A handler must not call `advance`.
   *
   * @example
   * await queue.advance("30m");
   */
  advance(duration: Duration): Promise<void>;
  /**
   * Delivers an event to the topics, which apply their `cancelOn` and `enqueueOn`. If a topic cannot apply the event, throws the first
   * error after all topics have had the event.
   *
   * The time of the event is the clock's time in whole seconds, as in EventBridge. Of two events in the same second, the one that
   * cancels counts as the later one. So call `advance` between an event that cancels a job and an event that files the next.
   */
  publish(event: TestEvent): Promise<void>;
  /** The secret with which the receiver of a URL verifies its calls. */
  receiverSecret(url: string): string;
  /** All stored jobs, or only the jobs of `topic`, in the order of `dueAt`. */
  jobs<N extends keyof T & string, T = Topics>(topic?: N): Job<T, N>[];
  /** All runs of handlers and all calls to receivers so far. */
  runs(): readonly Run[];
};

const START = Date.UTC(2026, 0, 1);
/** The deadline of a tick, ms from its start. The clock stands still while a tick runs. */
const TICK_TIME = 150_000;

/**
 * Creates a queue in memory for tests, with the rules of the deployed queue and a clock of its own.
 *
 * Throws a `RangeError` for an unknown option, for an invalid `now`, and for a number or a topic setting that is out of its range.
 *
 * @example
 * const queue = createTestQueue({ topics: { "order-timeout": { handler: closeOrder } } });
 * await queue.client.enqueue("order-timeout", { orderId: "17" }, { delay: "30m" });
 * await queue.advance("30m");
 */
export function createTestQueue<Topics>(options: TestQueueOptions<Topics>): TestQueue<Topics> {
  checkOptions(options);
  let time = startOf(options.now);
  let lastTick = time;
  const clock = (): number => time;
  const topics = Object.keys(options.topics);
  const pool = memoryPool({ clock });
  const queues = memoryQueues({ clock, topics });
  const schedules = memorySchedules({ clock });
  /** The paused topics, whose event sources are disabled. */
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
  /** Moves the clock to the next tick, occurrence or delivery, and performs this event. Answers false if no event comes by `end`. */
  const step = async (end: number): Promise<boolean> => {
    const ticking = await nextTick(ctx, pool, lastTick);
    const occurring = await earliestOccurrences(ctx);
    const polled = consumed.filter((topic) => !idle.has(topic));
    const delivery = nextDelivery(queues, polled, starts);
    const next = Math.min(
      ...[ticking, occurring, delivery].map((one) => one?.time ?? Number.POSITIVE_INFINITY),
    );
    if (next > end) return false;
    time = Math.max(time, next);
    // File occurrences first: `earliestOccurrences` answers only occurrences after the clock's time, so the next step would skip these.
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
          `duration must be seconds (0 or more) or a string such as "7d", got ${JSON.stringify(duration)}`,
        );
      }
      if (advancing) {
        throw new Error(
          "advance must not be called while it runs: a test must await each call, and a handler must not call it",
        );
      }
      advancing = true;
      try {
        const end = time + ms;
        const pace = paceOf(clock, runs, waiting);
        while (await step(end)) await pace();
        // Tick at the last minute, so that the lags are correct at the end.
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
      // The caller has declared the type of the bodies.
      return wanted.sort((a, b) => a.dueAt - b.dueAt).map((home) => jobJson(ctx, home) as never);
    },
    runs: () => [...runs],
  };
}

function startOf(now: Instant = new Date(START)): number {
  const time = typeof now === "string" ? parseInstant(now) : new Date(now).getTime();
  if (time === undefined || Number.isNaN(time))
    throw new RangeError(`now must be a Date or an ISO 8601 time with a zone, got ${JSON.stringify(now)}`);
  return time;
}
