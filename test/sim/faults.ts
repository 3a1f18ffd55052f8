import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { BATCH_PATIENCE } from "../../core/constants.ts";
import { type Draws, drawsOf } from "./draws.ts";
import type { Call } from "./network.ts";
import type { Firings } from "./services/scheduler.ts";
import { problem } from "./services/service.ts";

/** What happens to one try of a call. Times are ms. */
export type Fate = {
  /** How long the request takes; older than its signature's life it never takes effect; infinite when it is lost. */
  request: number;
  /** How long the answer takes; infinite when it is lost. */
  answer: number;
  /** The caller dies before it is sent, while it is on its way, or when it took effect. */
  crash?: "before" | "under way" | "after";
  /** The caller freezes while it waits. */
  freeze: number;
  /** The service refuses, without an effect or after one. */
  refusal?: Error | undefined;
  refusalAfter?: Error;
  /** The code that one entry of a batch fails with. `item`: the sort key that it writes. */
  entryFails(draws: Draws, item?: string): string | undefined;
};

/** What can go wrong with one call. Each seed has some of them. */
const CALL_FAULTS = [
  "crash",
  "lost-answer",
  "slow-request",
  "freeze",
  "server-error",
  "throttled",
  "conflict",
  "entry",
] as const;
type CallFault = (typeof CALL_FAULTS)[number];

/** What goes wrong for a while. */
const SPELLS = [
  "throttling-storm",
  "pool-down",
  "queues-down",
  "topic-fails",
  "sources-down",
  "scheduler-down",
  "no-ticks",
] as const;
/** What does not answer for a while, until its callers give up: one queue, or one shard's part of the pool. */
const HANGS = ["queue-hangs", "shard-hangs"] as const;
type SpellKind = (typeof SPELLS)[number] | (typeof HANGS)[number];
export type Spell = { kind: SpellKind; from: number; to: number; topic: string; shard: number };

/** What goes wrong at a moment. */
const BLOWS = [
  "purge",
  "lose-message",
  "duplicate-message",
  "native-redrive",
  "kill",
  "freeze-machine",
  "double-tick",
  "ttl",
  "more-shards",
] as const;
export type Blow = { key: string; kind: (typeof BLOWS)[number]; time: number };

/** Those after which messages are gone that SQS had taken. */
export const LOSING = new Set<Blow["kind"]>(["purge", "lose-message"]);

/**
 * `calm`: nothing goes wrong, so that punctuality and cost can be told. `one fault`: nothing else. `hurt`: a mixture
 * that differs by seed, since faults hide each other when all come at once.
 */
export type Weather = "calm" | "one fault" | "hurt";

/** How long a request takes at most that no fault strikes, and its answer. ms. */
export const ON_ITS_WAY = 8;

/** What goes wrong alone: which call of whose. */
const ROLES = ["api", "producer", "consumer", "tick"] as const;
type Role = (typeof ROLES)[number] | "event";
/** Which call: the how many-th of an operation, of a role's machines. */
type OneFault = { fault: CallFault | "hot-job"; role: Role; operation: string; call: number };
/** `hot-job`: DynamoDB throttles the claims of one job for a while, and not those of the other jobs of its batch. */
const LONE_FAULTS = [
  "crash",
  "crash",
  "crash",
  "lost-answer",
  "throttled",
  "conflict",
  "entry",
  "hot-job",
] as const;

export type Plan = {
  readonly weather: Weather;
  /** Faults are over then, ms since the epoch. */
  readonly calmFrom: number;
  /** ms that clocks are apart at most, from true time. */
  readonly skew: number;
  /** Whether messages come in any order. */
  readonly shuffled: boolean;
  /** How many messages of one queue may be in flight. */
  inFlight(now: number): number;
  /** How many items DynamoDB reads at most in one page. */
  readonly pageItems: number;
  readonly spells: readonly Spell[];
  readonly blows: readonly Blow[];
  /** Of one receive of Lambda's, or of its deletes, to come to nothing. */
  readonly lostReceive: number;
  readonly lateTicks: boolean;
  /** ms after which a tick begins no further page. */
  readonly tickTime: number;
  /** Which part of DynamoDB's capacity there is; infinite where it has no end. */
  readonly capacity: number;
  /** Whether handlers crash, outlast their lease and so on. */
  readonly badHandlers: boolean;
  /** Whether attempts can be lost that never ran. */
  readonly burns: boolean;
  /** ms from its due time at most that a run of a job may start; without a bound where much goes wrong. */
  latest(id: string): number;
  fateOf(call: Call, draws: Draws, now: number): Fate;
  /** How often EventBridge Scheduler fires an occurrence, and how late. */
  firingsOf(target: string, draws: Draws, now: number): Firings;
};

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** SQS's own bound for one queue, and the one of some histories. */
const MOST_IN_FLIGHT = 120_000;
const FEW_IN_FLIGHT = 3;
/** From 5 writes of a partition in a second to 50. */
const CAPACITIES = [0.005, 0.02, 0.05];
/** From about one page of each shard to all that a usual minute has. ms. */
const TICK_TIMES = [30, 60, 120, 300, 1000];

export function weatherOf(seed: number): Weather {
  if (seed % 10 === 0) return "calm";
  return seed % 10 <= 3 ? "one fault" : "hurt";
}

/**
 * The faults of a seed. `suppressed` names some that do not happen; `onFault` is told of each that does, with the name
 * to suppress it by.
 */
export function planOf(
  seed: number,
  settings: {
    start: number;
    /** ms that things go wrong for. */
    span: number;
    /** ms that a spell lasts at most: an outage, and an unlucky moment. */
    longest: { long: number; short: number };
    /** How often a call meets a fault: one of these. */
    rates: readonly number[];
    topics: readonly string[];
    shards: number;
    /** When a topic opens for some minutes: its messages lie in their queue then, and may be lost. */
    opening?: number | undefined;
    /** Whose calls are struck beside those of the usual ones. */
    roles: readonly Role[];
    suppressed: ReadonlySet<string>;
    onFault: (key: string, what: string) => void;
  },
): Plan {
  const { start, span, topics, opening, suppressed, onFault } = settings;
  const roles = [...ROLES, ...settings.roles];
  const weather = weatherOf(seed);
  const draws = drawsOf(seed, "plan");
  const calmFrom = start + (weather === "calm" ? 0 : span);
  const hurt = weather === "hurt";
  const some = (probability: number): boolean => draws.chance(probability) && hurt;
  const happens = (key: string, what: string): boolean => {
    if (suppressed.has(key)) return false;
    onFault(key, what);
    return true;
  };

  const victim = draws.pick(roles);
  const rates = new Map<CallFault, number>();
  for (const fault of CALL_FAULTS) {
    const rate = draws.pick(settings.rates);
    if (some(0.35)) rates.set(fault, rate);
  }
  const longest = some(0.3) ? settings.longest.long : settings.longest.short;
  const spells: Spell[] = [];
  for (const kind of SPELLS) {
    const from = start + draws.next() * span;
    const end = from + draws.next() * longest;
    // Ticks may be missing for hours, as nobody but the table's jobs waits for them.
    const to = kind === "no-ticks" ? from + (end - from) * 6 : Math.min(end, calmFrom);
    const topic = draws.pick(topics);
    if (some(0.25) && happens(`spell:${kind}`, `${kind} for ${Math.round((to - from) / 1000)} s (${topic})`))
      spells.push({ kind, from, to, topic, shard: 0 });
  }
  for (const kind of HANGS) {
    const own = drawsOf(seed, kind);
    const from = start + own.next() * span;
    const to = Math.min(from + own.next() * longest, calmFrom);
    const [topic, shard] = [own.pick(topics), own.whole(0, settings.shards - 1)];
    if (
      hurt &&
      own.chance(0.15) &&
      happens(`spell:${kind}`, `${kind} for ${Math.round((to - from) / 1000)} s (${topic})`)
    )
      spells.push({ kind, from, to, topic, shard });
  }
  const blows: Blow[] = [];
  for (const kind of BLOWS) {
    const count = draws.whole(1, kind === "kill" || kind === "duplicate-message" ? 12 : 4);
    const times = Array.from({ length: count }, () => start + draws.next() * span);
    const sent = (opening ?? start) - drawsOf(seed, kind).next() * SENT_AHEAD;
    if (LOSING.has(kind) && sent > start && sent < start + span) times.push(sent);
    if (some(0.35))
      for (const [i, time] of times.entries()) blows.push({ key: `blow:${kind}:${i}`, kind, time });
  }
  const skew = some(0.4) ? draws.pick([1000, 5000, 7000]) : 0;
  const [scarce, short] = [drawsOf(seed, "capacity"), drawsOf(seed, "tick's time")];
  const unlimited = Number.POSITIVE_INFINITY;
  const isScarce = hurt && scarce.chance(0.25) && happens("capacity", "DynamoDB's capacity is scarce");
  const isShort = hurt && short.chance(0.6) && happens("tick's time", "ticks have little time");
  const one: OneFault = {
    fault: draws.pick(LONE_FAULTS),
    role: draws.pick(roles),
    operation: draws.pick([
      "UpdateItem",
      "PutItem",
      "DeleteItem",
      "BatchExecuteStatement",
      "TransactWriteItems",
      "SendMessageBatch",
    ]),
    call: draws.whole(0, 7),
  };
  let calls = 0;
  // Their own draws, so that the other faults stay as they were.
  const strays = hurt && drawsOf(seed, "strays").chance(0.15);
  const heat = heatOf(drawsOf(seed, "heat").pick(["api", "consumer"]));
  const badScheduler = some(0.5);
  const [shuffled, fewInFlight] = [some(0.5), some(0.1)];

  const base = (own: Draws): Fate => ({
    request: own.whole(1, ON_ITS_WAY),
    answer: own.whole(1, ON_ITS_WAY),
    freeze: 0,
    entryFails: () => undefined,
  });

  const fateOf: Plan["fateOf"] = (call, own, now) => {
    const fate = base(own);
    if (now >= calmFrom) return fate;
    const key = `${call.machine.name}#${call.index}`;
    if (weather === "one fault") {
      if (one.fault === "hot-job") {
        if (heat.reaches(call) && happens("hot-job", "the claims of one job are throttled"))
          fate.entryFails = (_, item) => heat.refuses(item, now);
        return fate;
      }
      const its = call.machine.name.startsWith(one.role) && call.operation === one.operation;
      const struck = its && calls++ === one.call;
      if (struck && happens(key, one.fault)) strike(one.fault, fate, call, own);
      return fate;
    }
    const storm = (kind: SpellKind): boolean =>
      spells.some(
        (spell) => spell.kind === kind && spell.from <= now && now < spell.to && reaches(spell, call),
      );
    if (storm("pool-down") || storm("queues-down") || storm("sources-down") || storm("scheduler-down")) {
      fate.refusal = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    } else if (storm("topic-fails")) fate.refusal = problem("KmsThrottled", "simulated");
    else if (storm("queue-hangs") || storm("shard-hangs")) {
      if (own.chance(0.5)) fate.request = Number.POSITIVE_INFINITY;
      fate.answer = Number.POSITIVE_INFINITY;
    } else if (storm("throttling-storm") && own.chance(0.6)) fate.refusal = throttled();
    if (strays && isChangeOfCaller(call) && own.chance(STRAYING) && happens(key, "stray")) {
      fate.request = own.next() * LATEST_STRAY;
      fate.crash = "under way";
      return fate;
    }
    // Ticks make most of the calls: without a victim they would have most of the faults too.
    const roll = own.next() / (call.machine.name.startsWith(victim) ? 8 : 1);
    let upTo = 0;
    for (const [fault, rate] of rates) {
      upTo += rate;
      if (roll >= upTo) continue;
      if (happens(key, fault)) strike(fault, fate, call, own);
      break;
    }
    return fate;
  };

  return {
    weather,
    calmFrom,
    skew,
    shuffled,
    inFlight: (now) => (fewInFlight && now < calmFrom ? FEW_IN_FLIGHT : MOST_IN_FLIGHT),
    spells,
    blows: blows.filter(({ key, kind }) => happens(key, kind)),
    pageItems: some(0.5) ? 2 : 10_000,
    lostReceive: some(0.2) ? 0.1 : 0,
    lateTicks: some(0.4),
    tickTime: isShort ? short.pick(TICK_TIMES) : unlimited,
    capacity: isScarce ? scarce.pick(CAPACITIES) : unlimited,
    badHandlers: some(0.6),
    burns: weather === "hurt" || (weather === "one fault" && one.fault === "crash"),
    firingsOf(target, own, now) {
      const onTime = own.whole(0, PUNCTUAL);
      if (now >= calmFrom || !badScheduler) return [onTime];
      // What promotes may never come: the sweep carries every job.
      if (target === "promote" && own.chance(0.3)) return [];
      if (own.chance(0.3)) return [onTime, own.whole(0, 2 * PUNCTUAL)];
      return [own.chance(0.3) ? own.whole(0, 10 * PUNCTUAL) : onTime];
    },
    latest(id) {
      if (weather === "hurt") return Number.POSITIVE_INFINITY;
      if (weather === "calm") return ON_TIME;
      if (one.fault === "hot-job") return heat.isHot(id) ? REPEATED : BESIDE_HOT;
      return boundOf(one);
    },
    fateOf,
  };
}

/** How long before it is due a job's message is sent. */
const SENT_AHEAD = 3 * MINUTE;
/** EventBridge Scheduler fires within a minute. */
const PUNCTUAL = MINUTE;
/** SQS's whole seconds, and a puller's own pace. */
export const ON_TIME = 2000;
/** Till a call that got no answer has been repeated; a receive's messages are hidden so long. */
const REPEATED = 65_000;
/** Jobs of the same batch wait until their claims have given up the one that is throttled, at most twice. */
const BESIDE_HOT = ON_TIME + 2 * BATCH_PATIENCE;
/** In some histories so many changes lose their caller while they are on their way, and land so late at most. */
const STRAYING = 0.1;
const LATEST_STRAY = 4 * MINUTE;
/** How long one job's claims are throttled. */
const HEAT = 30_000;
/** A run's lease, the rest of its message's visibility and a round more. */
const CRASHED = 250_000;
/** Till the audit comes by. */
const AUDITED = 16 * MINUTE;

/**
 * How late one fault may make a job. The tick works minutes ahead, so that nothing of its own is late. A run's message
 * comes back. Only what a producer did not live to send waits for the audit.
 */
function boundOf({ fault, role }: OneFault): number {
  if (role === "tick") return ON_TIME;
  if (fault !== "crash") return REPEATED;
  return role === "consumer" ? CRASHED : AUDITED;
}

/** Throttles the claims of one job: the first of the first batch of several that a machine of the role claims. */
function heatOf(role: Role) {
  let hot: { item: string; until: number } | undefined;
  return {
    /** Whether a call claims jobs that may be throttled. */
    reaches({ machine, input }: Call): boolean {
      const { Statements = [] } = input as { Statements?: { Statement: string }[] };
      const claims = Statements.filter(({ Statement }) => Statement.includes('"leaseEnd"'));
      return hot ? claims.length > 0 : claims.length > 1 && machine.name.startsWith(role);
    },
    refuses(item = "", now: number): string | undefined {
      hot ??= { item, until: now + HEAT };
      return item === hot.item && now < hot.until ? "ThrottlingError" : undefined;
    },
    isHot: (id: string): boolean => hot?.item.endsWith(`#${id}`) === true,
  };
}

function reaches({ kind, topic, shard }: Spell, { service, input }: Call): boolean {
  if (kind === "queues-down") return service === "sqs";
  if (kind === "sources-down") return service === "lambda";
  if (kind === "scheduler-down") return service === "scheduler";
  if (kind === "topic-fails" || kind === "queue-hangs")
    return service === "sqs" && (input as { QueueUrl?: string }).QueueUrl === topic;
  if (kind === "shard-hangs") return service === "dynamodb" && namesBucketOf(shard, input);
  return service === "dynamodb";
}

/** Whether a request names a bucket of a shard, whatever operation it is of. */
function namesBucketOf(shard: number, input: object): boolean {
  return new RegExp(`T\\d\\d:\\d\\d#${shard}"`).test(JSON.stringify(input));
}

function isChangeOfCaller({ machine, operation }: Call): boolean {
  return operation === "UpdateItem" && /^(api|producer)-/.test(machine.name);
}

function throttled(): Error {
  return problem("ProvisionedThroughputExceededException", "simulated");
}

function strike(fault: CallFault, fate: Fate, call: Call, own: Draws): void {
  switch (fault) {
    case "crash":
      fate.crash = own.chance(0.5) ? "before" : "after";
      break;
    case "lost-answer":
      fate.answer = Number.POSITIVE_INFINITY;
      break;
    case "slow-request":
      // Some land as late as a signature lives, some never.
      fate.request = own.next() * own.pick([4000, 60_000, 360_000]);
      break;
    case "freeze":
      // A producer of a user's own may freeze for an hour, a function for its life.
      fate.freeze =
        own.next() *
        own.pick(call.machine.name.startsWith("producer") ? [5000, HOUR, HOUR] : [5000, 29_000, 170_000]);
      break;
    case "server-error":
      fate[own.chance(0.5) ? "refusal" : "refusalAfter"] = problem("InternalServerError", "simulated", 500);
      break;
    case "throttled":
      fate.refusal = throttled();
      break;
    case "conflict":
      fate.refusal = conflict(call);
      break;
    case "entry":
      fate.entryFails = (draws) =>
        draws.chance(0.5)
          ? draws.pick(
              call.service === "sqs"
                ? ["InternalError"]
                : ["ThrottlingError", "TransactionConflict", "InternalServerError"],
            )
          : undefined;
      break;
  }
}

/** Another transaction holds an item of this write. */
function conflict({ operation, input }: Call): Error | undefined {
  if (operation === "TransactWriteItems") {
    const { TransactItems } = input as { TransactItems: unknown[] };
    return new TransactionCanceledException({
      message: "simulated",
      $metadata: { httpStatusCode: 400 },
      CancellationReasons: TransactItems.map((_, i) => ({ Code: i === 0 ? "TransactionConflict" : "None" })),
    });
  }
  if (["PutItem", "UpdateItem", "DeleteItem"].includes(operation))
    return problem("TransactionConflictException", "simulated");
  return undefined;
}
