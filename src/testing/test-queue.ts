import type { Job } from "../client/answers.ts";
import { jsonOf } from "../client/call.ts";
import { type TopicSchemas, withSchemas } from "../client/check-bodies.ts";
import type { Client } from "../client/client.ts";
import type { Duration, Instant } from "../client/options.ts";
import { receiverSecret } from "../consumer/webhook/receiver-secret.ts";
import type { Home } from "../core/home.ts";
import { drawToken } from "../core/job-id.ts";
import { SIZES } from "../core/work-sizes.ts";
import { instantRule, insteadOfDuration, parseInstant, secondsIn } from "../general/times.ts";
import { jobJson } from "../http/job-json.ts";
import type { Service } from "../http/route.ts";
import { routes } from "../http/route-table.ts";
import { applyRule } from "../protocol/file/apply-rule.ts";
import type { Context } from "../protocol/ports.ts";
import { type EventRule, parseEvent, rulesFor } from "../settings/event-rules.ts";
import { DEFAULT_PREFIX } from "../settings/prefix.ts";
import { type Played, playUntil } from "./advance.ts";
import { checkOptions, shown } from "./check-options.ts";
import { clientInside } from "./client-inside.ts";
import { deliverer, type Run, throwTrouble } from "./deliver.ts";
import { memoryPool } from "./memory-pool.ts";
import { memoryQueues } from "./memory-queues.ts";
import { memorySchedules } from "./memory-schedules.ts";
import { type JobEvent, memoryNotices } from "./notices.ts";
import { seededBytes } from "./random.ts";
import { receiveNow } from "./receive.ts";
import { type AnyTopics, rulesOf, type TestTopics, testPolicy, WEBHOOK_SECRET } from "./topics.ts";

export type { Run } from "./deliver.ts";
export type { JobEvent } from "./notices.ts";
export type { Receiver, TestTopic, TestTopics } from "./topics.ts";

export type TestQueueOptions<Topics> = {
  /** The topics by name, each with its settings and its handler. */
  readonly topics: TestTopics<Topics>;
  /** The schemas with which the client checks bodies before it files them, as in `createClient`. */
  readonly schemas?: TopicSchemas;
  /** The first time of the clock; 2026-01-01T00:00:00Z by default. */
  readonly now?: Instant;
  /** The seed of all random values, such as ids: a whole number, 1 by default. The same seed gives the same run. */
  readonly seed?: number;
  /** The queue's `prefix`, which the `source` of the events of `notify` names: 1 to 24 letters, digits and `-`; `minutehand` by default. */
  readonly prefix?: string;
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
   * Moves the clock forward by `duration`, and runs everything that falls due until then, in order, with retries; with 0, everything that
   * is due now.
   * Throws a `RangeError` for an invalid duration; if a handler does not end; if jobs run without end while no time passes; and errors that
   * the deployed queue would log and retry: in memory, nothing fails by chance. A handler must not call `advance`.
   * @example await queue.advance("30m");
   */
  advance(duration: Duration): Promise<void>;
  /**
   * Delivers an event to the topics, which apply their `cancelOn` and `enqueueOn`. Throws the first error of a topic, after all topics have
   * had the event. The event's time is the clock's in whole seconds, as in EventBridge. Of two events in the same second, the one that
   * cancels counts as the later one: call `advance` between a cancelling event and an event that files the next job.
   */
  publish(event: TestEvent): Promise<void>;
  /** The secret with which the receiver of a URL verifies its calls. */
  receiverSecret(url: string): string;
  /** All stored jobs, or only the jobs of `topic`, in the order of `dueAt`. */
  jobs<N extends keyof T & string, T = Topics>(topic?: N): Job<T, N>[];
  /** All runs of handlers and all calls to receivers so far. */
  runs(): readonly Run[];
  /**
   * The events about jobs so far, as topics with `notify` put them on the event bus, in the order of the ends. `advance` also delivers them to
   * the topics' own `cancelOn` and `enqueueOn`.
   */
  events(): readonly JobEvent[];
};

const START = Date.UTC(2026, 0, 1);

/** A test's output shows what went wrong, but not the record of changes that the deployed API logs. */
const LOG: Service["log"] = {
  info() {},
  warn: (message, extra) => console.warn(message, extra),
  error: (message, error) => console.error(message, error),
};

/**
 * Creates a queue in memory for tests, with the rules of the deployed queue and a clock of its own. Throws a `RangeError` for an unknown
 * option, for an invalid `now`, and for a number or a topic setting that is out of its range.
 * @example
 * const queue = createTestQueue({ topics: { "order-timeout": { handler: closeOrder } } });
 * await queue.client.enqueue("order-timeout", { orderId: "17" }, { delay: "30m" });
 * await queue.advance("30m");
 */
export function createTestQueue<Topics>(options: TestQueueOptions<Topics>): TestQueue<Topics> {
  checkOptions(options);
  const topics = options.topics as unknown as AnyTopics;
  const { schemas } = options;
  const played = createPlayed({ ...options, topics }, startOf(options.now));
  const { ctx, pool, clock, runs, notices } = played;
  let advancing = false;
  return {
    client: withSchemas(clientOf<Topics>(played), schemas),
    now: () => new Date(clock.time),
    async advance(duration) {
      const allowed = insteadOfDuration(duration);
      if (allowed !== undefined) throw new RangeError(`duration must be ${allowed}, got ${shown(duration)}`);
      if (advancing) {
        throw new Error(
          "advance must not be called while it runs: a test must await each call, and a handler must not call it",
        );
      }
      advancing = true;
      await playUntil(played, clock.time + secondsIn(duration) * 1000).finally(() => {
        advancing = false;
      });
    },
    publish: played.apply,
    receiverSecret: (url) => receiverSecret(WEBHOOK_SECRET, url),
    jobs(topic) {
      const homes = pool.items().filter((item): item is Home => "body" in item);
      const wanted = homes.filter((home) => topic === undefined || home.topic === topic);
      // The caller has declared the type of the bodies.
      return wanted.sort((a, b) => a.dueAt - b.dueAt).map((home) => jobJson(ctx, home) as never);
    },
    runs: () => [...runs],
    events: () => [...notices.events],
  };
}

type PlayedOptions = Pick<TestQueueOptions<never>, "seed" | "handlerTimeout" | "prefix"> & {
  readonly topics: AnyTopics;
};

/** Creates the services in memory, and the handlers. `start`: the first time of the clock, ms since the epoch. */
function createPlayed(options: PlayedOptions, start: number): Played {
  const clock = { time: start, lastTick: start };
  const now = (): number => clock.time;
  const pool = memoryPool({ clock: now });
  const queues = memoryQueues({ clock: now, topics: Object.keys(options.topics) });
  const schedules = memorySchedules({ clock: now });
  const idle = new Set<string>();
  const services: Context = {
    pool,
    queues,
    schedules,
    eventSources: {
      enable: async (topic, enabled) => void (enabled ? idle.delete(topic) : idle.add(topic)),
    },
    clock: now,
    random: seededBytes(options.seed ?? 1),
    policy: testPolicy(options.topics),
    sizes: SIZES,
    report: throwTrouble,
  };
  const notices = memoryNotices(services, options.prefix ?? DEFAULT_PREFIX);
  const ctx: Context = { ...services, report: notices.report };
  const delivered = deliverer(ctx, queues, options.topics, options.handlerTimeout);
  const rules = rulesOf(options.topics);
  const apply = (event: TestEvent) => publish(ctx, rules, event);
  return { ctx, clock, pool, queues, schedules, idle, notices, apply, ...delivered, starts: new Map() };
}

function clientOf<Topics>({ ctx, queues, notices }: Played): Client<Topics> {
  const client = clientInside<Topics>(ctx, LOG, routes, notices.flush);
  return {
    ...client,
    receive: (topic, request) =>
      receiveNow({ queues, topic, now: ctx.clock() }, (asked) => client.receive(topic, asked), request),
  };
}

async function publish(
  ctx: Context,
  rules: readonly EventRule[],
  { source, detailType, detail }: TestEvent,
): Promise<void> {
  const id = drawToken(ctx.random);
  const now = ctx.clock();
  const time = new Date(now - (now % 1000));
  const event = parseEvent(jsonOf({ id, source, "detail-type": detailType, time, detail }));
  const errors: unknown[] = [];
  for (const rule of rulesFor(rules, event))
    await applyRule(ctx, rule, event).catch((error) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

function startOf(now: Instant = new Date(START)): number {
  const time = typeof now === "string" ? parseInstant(now) : new Date(now).getTime();
  if (time !== undefined && !Number.isNaN(time)) return time;
  const rule = typeof now === "string" ? instantRule(now) : "must be a Date or a time as text";
  throw new RangeError(`now ${rule}, got ${JSON.stringify(now)}`);
}
