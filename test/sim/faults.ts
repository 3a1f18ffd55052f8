import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { BATCH_PATIENCE } from "../../core/constants.ts";
import { type Draws, drawsOf } from "./draws.ts";
import type { Call } from "./network.ts";
import type { Row } from "./services/expressions.ts";
import type { Firings } from "./services/scheduler.ts";
import { problem } from "./services/service.ts";
import type { Stretch } from "./stretch.ts";

/** What happens to one try of a call. Times are ms. */
export type Fate = {
  /** How long the request and the answer take. Infinite: lost. If the request outlasts its signature, it has no effect. */
  request: number;
  answer: number;
  /** The caller dies before the request is sent, while the request is on its way, or after it took effect. */
  crash?: "before" | "under way" | "after";
  freeze: number;
  /** The service answers with this error, without an effect (`refusal`) or after the effect (`refusalAfter`). */
  refusal?: Error | undefined;
  refusalAfter?: Error;
  /** The code with which one entry of a batch fails, if it fails. `item`, `pk`: the keys that it reads or writes. */
  entryFails(draws: Draws, item?: string, pk?: string): string | undefined;
};

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

/** What goes wrong for a while. Calls that hang get no answer until their callers give up. Slow ticks wait seconds for each answer. */
const SPELLS = [
  "throttling-storm",
  "pool-down",
  "queues-down",
  "topic-fails",
  "sources-down",
  "scheduler-down",
  "no-ticks",
  "queue-hangs",
  "shard-hangs",
  "partitions-fail",
  "slow-ticks",
  "requests-fail",
] as const;
type SpellKind = (typeof SPELLS)[number];
export type Spell = {
  kind: SpellKind;
  from: number;
  to: number;
  topic: string;
  shard: number;
  /** Of which kind the requests are that fail, if `kind` is `requests-fail`. */
  requests: Kind;
};

const WRITES = /Put|Update|Delete|Batch.*Statement|Transact/;
type Kind = {
  readonly name: string;
  readonly operations: RegExp;
  readonly places: RegExp;
  readonly sick: number;
  /** The first such request of a process is answered, and the next ones are over the limit for a while. */
  readonly isLater?: boolean;
};
const UNWRITTEN: Kind = { name: "buckets are not written", operations: WRITES, places: /^\d{4}-/, sick: 0.8 };
/** Requests that fail for a while, as if a partition were hot or a right taken away. `sick`: in which share of the moments they fail. */
const KINDS: readonly Kind[] = [
  { name: "pauses are not read", operations: /^(GetItem|BatchGetItem)$/, places: /^pause#/, sick: 0.8 },
  { name: "homes are not read", operations: /^BatchGetItem$/, places: /^\d{4}-/, sick: 0.8 },
  { name: "later pages are not read", operations: /^Query$/, places: /^\d{4}-/, sick: 1, isLater: true },
  { name: "later receives fail", operations: /^ReceiveMessage$/, places: /^work$/, sick: 1, isLater: true },
  UNWRITTEN,
  { name: "keys are not written", operations: WRITES, places: /^(key|once)#/, sick: 1 },
  { name: "dead entries are not written", operations: WRITES, places: /^dead#/, sick: 0.6 },
  { name: "notes are not written", operations: WRITES, places: /^paused#/, sick: 0.8 },
  { name: "letters are not sent", operations: /^SendMessageBatch$/, places: /_dlq$/, sick: 0.6 },
];

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

export const LOSING = new Set<Blow["kind"]>(["purge", "lose-message"]);

/** `calm`: no fault, so punctuality and cost are judged. `hurt`: a mixture for each seed, because all faults would hide each other. */
export type Weather = "calm" | "one fault" | "hurt";

/** The longest time that a request without a fault takes, and also the longest that its answer takes. ms. */
export const ON_ITS_WAY = 8;

const ROLES = ["api", "producer", "consumer", "tick"] as const;
type Role = (typeof ROLES)[number] | "event";
/** `call`: which call of this operation it strikes, counted from 0 over all machines of the role. */
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
  /** Names of faults and users that must be left out. */
  readonly suppressed: ReadonlySet<string>;
  /** When all faults are over, ms since the epoch. */
  readonly calmFrom: number;
  readonly skew: number;
  readonly shuffled: boolean;
  inFlight(now: number): number;
  readonly pageItems: number;
  readonly spells: readonly Spell[];
  readonly unwritten: number;
  readonly blows: readonly Blow[];
  /** The probability that the answer of a receive by Lambda is lost, or that its delete has no effect. */
  readonly lostReceive: number;
  readonly lateTicks: boolean;
  /** ms after which a tick begins no further page. */
  readonly tickTime: number;
  /** The share of DynamoDB's real capacity that the history has. Infinite: capacity is unlimited. */
  readonly capacity: number;
  readonly badHandlers: boolean;
  /** Whether an attempt can be used up although its job never ran. */
  readonly burns: boolean;
  /** How many ms after its due time a job may start. Infinite in `hurt` weather. */
  latest(id: string): number;
  fateOf(call: Call, draws: Draws, now: number): Fate;
  /** How often EventBridge Scheduler fires an occurrence, and how late. */
  firingsOf(target: string, draws: Draws, now: number): Firings;
};

const MINUTE = 60_000;
const HALF_AN_HOUR = 30 * MINUTE;
const LASTING_SPELLS = new Set<SpellKind>(["partitions-fail", "slow-ticks", "requests-fail", "sources-down"]);
const LASTING = 15 * MINUTE;
const FAILS_FOR = 40_000;
/** ms that a tick waits for an answer at most: each call is answered before its caller gives up. */
const SLOW_ANSWER = 4000;
const HOUR = 60 * MINUTE;
/** SQS's own limit for one queue, and the limit of some histories. */
const MOST_IN_FLIGHT = 120_000;
const FEW_IN_FLIGHT = 3;
/** Shares of DynamoDB's capacity that a history may have: 5 to 50 writes a second for one partition. */
const CAPACITIES = [0.005, 0.02, 0.05];
/** The shortest is enough for about one page of each shard, the longest for all the work of a usual minute. ms. */
const TICK_TIMES = [30, 60, 120, 300, 1000];

export function weatherOf(seed: number): Weather {
  if (seed % 10 === 0) return "calm";
  return seed % 10 <= 3 ? "one fault" : "hurt";
}

/** The faults of a seed. `suppressed`: names of faults that must not happen. `onFault`: called with the name of each that happens. */
export function planOf(
  seed: number,
  settings: {
    start: number;
    stretch: Pick<Stretch, "span" | "spells" | "faultRates" | "shards">;
    topics: readonly string[];
    /** When a topic with a short window opens. Messages are also lost just before, while they wait in their queue for the opening. */
    opening?: number | undefined;
    /** More roles, beside those of `ROLES`, whose calls faults can strike. */
    roles: readonly Role[];
    suppressed: ReadonlySet<string>;
    onFault: (key: string, what: string) => void;
  },
): Plan {
  const { start, stretch, topics, opening, suppressed, onFault } = settings;
  const { span } = stretch;
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
    const rate = draws.pick(stretch.faultRates);
    if (some(0.35)) rates.set(fault, rate);
  }
  const longest = some(0.3) ? stretch.spells.long : stretch.spells.short;
  const spells: Spell[] = [];
  for (const kind of SPELLS) {
    const own = drawsOf(seed, kind);
    // A key that could not be released is released by an audit, a quarter of an hour later.
    const isEarly = kind === "requests-fail";
    const from = start + own.next() * span * (isEarly ? 0.1 : 1);
    const lasts = LASTING_SPELLS.has(kind);
    const drawn = own.next() * (lasts ? Math.max(longest, LASTING) : longest);
    const length = isEarly ? LASTING + drawn : drawn;
    // Ticks may be missing for hours, even after the other faults: only the jobs in the table wait for ticks.
    const outage = own.chance(0.5) ? HALF_AN_HOUR : length * 6;
    const to = kind === "no-ticks" ? from + outage : Math.min(from + length, calmFrom);
    const [topic, shard] = [own.pick(topics), own.whole(0, stretch.shards - 1)];
    const isDrawn = own.chance(kind === "requests-fail" ? 0.4 : 0.2);
    const requests = own.pick(KINDS);
    const which = kind === "requests-fail" ? requests.name : topic;
    const what = `${kind} for ${Math.round((to - from) / 1000)} s (${which})`;
    if (hurt && isDrawn && happens(`spell:${kind}`, what))
      spells.push({ kind, from, to, topic, shard, requests });
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
  // These faults have draws of their own, so that they do not change the other faults of a seed.
  const strays = hurt && drawsOf(seed, "strays").chance(0.15);
  const hotRole = drawsOf(seed, "heat").pick(["api", "consumer"] as const);
  const heat = heatOf(hotRole);
  const besideHot = hotRole === "api" ? BESIDE_HOT_PULLED : BESIDE_HOT;
  const badScheduler = some(0.5);
  const [shuffled, fewInFlight] = [some(0.5), some(0.1)];

  const base = (own: Draws): Fate => ({
    request: own.whole(1, ON_ITS_WAY),
    answer: own.whole(1, ON_ITS_WAY),
    freeze: 0,
    entryFails: () => undefined,
  });

  const answered = new Map<string, number>();
  /** Lets a request fail, or the entries of a batch, if it is of this kind. */
  const refuse = ({ operations, places, sick, isLater }: Kind, fate: Fate, call: Call, now: number): void => {
    const isSick = drawsOf(seed, `requests fail ${Math.floor(now / FAILS_FOR)}`).chance(sick);
    if (!isSick || !operations.test(call.operation)) return;
    const named = placesOf(call.input).filter((place) => places.test(place));
    if (isLater && named.length > 0) {
      const caller = `${call.machine.name} ${named}`;
      const first = answered.get(caller);
      if (first === undefined || now - first > FAILS_FOR) return void answered.set(caller, now);
    }
    if (named.length > 0) fate.refusal = throttled();
    const { entryFails } = fate;
    fate.entryFails = (own, item, pk = "") =>
      places.test(pk) ? "ThrottlingError" : entryFails(own, item, pk);
  };

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
    else if (storm("slow-ticks")) fate.answer = own.next() * SLOW_ANSWER;
    if (storm("partitions-fail")) {
      const codeOf = (pk = ""): string | undefined => (isFailing(pk, now) ? "ThrottlingError" : undefined);
      if (codeOf(partitionOf(call.input))) fate.refusal = throttled();
      fate.entryFails = (_, __, pk) => codeOf(pk);
    }
    const failing = spells.find(({ kind, from, to }) => kind === "requests-fail" && from <= now && now < to);
    if (failing) refuse(failing.requests, fate, call, now);
    if (strays && isChangeOfCaller(call) && own.chance(STRAYING) && happens(key, "stray")) {
      fate.request = own.next() * LATEST_STRAY;
      fate.crash = "under way";
      return fate;
    }
    // Ticks make most of the calls, so with equal rates they would get most of the faults. One role is struck eight times as often.
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
    suppressed,
    calmFrom,
    skew,
    shuffled,
    inFlight: (now) => (fewInFlight && now < calmFrom ? FEW_IN_FLIGHT : MOST_IN_FLIGHT),
    spells,
    unwritten: spells
      .filter(({ kind, requests }) => kind === "requests-fail" && requests === UNWRITTEN)
      .reduce((sum, { from, to }) => sum + Math.max(to - from, 0), 0),
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
      // The schedule that promotes a far job may never fire, because the sweep sends every job anyway.
      if (target === "promote" && own.chance(0.3)) return [];
      if (own.chance(0.3)) return [onTime, own.whole(0, 2 * PUNCTUAL)];
      return [own.chance(0.3) ? own.whole(0, 10 * PUNCTUAL) : onTime];
    },
    latest(id) {
      if (weather === "hurt") return Number.POSITIVE_INFINITY;
      if (weather === "calm") return ON_TIME;
      if (one.fault === "hot-job") return heat.isHot(id) ? REPEATED : besideHot;
      return boundOf(one);
    },
    fateOf,
  };
}

/** A job's message is sent so long before the job is due. */
const SENT_AHEAD = 3 * MINUTE;
/** EventBridge Scheduler fires within a minute. */
const PUNCTUAL = MINUTE;
/** A job may be this late without any fault: SQS delays by whole seconds, and a puller takes its time. */
export const ON_TIME = 2000;
/** How late one call without an answer can make a job: until it is repeated, or until a lost receive's messages are visible. */
const REPEATED = 65_000;
const HEAT = 30_000;
/** Jobs of the same batch wait until the batch gives up its throttled claim, which can happen twice. */
const BESIDE_HOT = ON_TIME + 2 * BATCH_PATIENCE;
/** A moved job has several messages, so a puller of few jobs may get the hot job with each receive until its claims work. */
const BESIDE_HOT_PULLED = ON_TIME + HEAT;
/** In some histories, this share of changes lose their caller while they are on their way, and take effect at most so late. */
const STRAYING = 0.1;
const LATEST_STRAY = 4 * MINUTE;
/** Within this time the audit reads a job whose message was never sent. */
const AUDITED = 16 * MINUTE;
/** How late one fault may make a job. Ticks work ahead. If another process dies between any job's write and send, the audit sends it. */
function boundOf({ fault, role }: OneFault): number {
  if (role === "tick") return ON_TIME;
  return fault === "crash" ? AUDITED : REPEATED;
}

/** Throttles the claims of one job: the first job of the first batch with several claims that a machine of the role makes. */
function heatOf(role: Role) {
  let hot: { item: string; until: number } | undefined;
  return {
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

function reaches({ kind, topic, shard }: Spell, { machine, service, input }: Call): boolean {
  if (kind === "queues-down") return service === "sqs";
  if (kind === "slow-ticks") return machine.name.startsWith("tick");
  if (kind === "sources-down") return service === "lambda";
  if (kind === "scheduler-down") return service === "scheduler";
  if (kind === "topic-fails" || kind === "queue-hangs")
    return service === "sqs" && (input as { QueueUrl?: string }).QueueUrl === topic;
  if (kind === "shard-hangs") return service === "dynamodb" && namesBucketOf(shard, input);
  return service === "dynamodb";
}

/** Whether a request, of any operation, names a bucket of this shard. */
function namesBucketOf(shard: number, input: object): boolean {
  return new RegExp(`T\\d\\d:\\d\\d#${shard}"`).test(JSON.stringify(input));
}

/** The partition that a request for a single item or a page names. */
function partitionOf(input: object): string | undefined {
  const { Key, Item = Key, ExpressionAttributeValues: values } = input as Record<string, Row | undefined>;
  return (Item?.pk ?? values?.[":pk"])?.S;
}

/** The partitions and the queue that a request names, if it is no batch of statements or of reads. */
function placesOf(input: object): string[] {
  const { TransactItems = [], QueueUrl } = input as {
    TransactItems?: Record<string, object>[];
    QueueUrl?: string;
  };
  const requests = [input, ...TransactItems.flatMap((item) => Object.values(item))];
  return [...requests.map(partitionOf), QueueUrl].filter((place) => place !== undefined);
}

/** Whether a partition fails at this time: it fails for `FAILS_FOR`, longer than two reads have patience, and then may answer. */
function isFailing(pk: string, now: number): boolean {
  return pk !== "" && drawsOf(Math.floor(now / FAILS_FOR), pk).chance(0.3);
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
      // Some requests take longer than their signature is valid, and never take effect.
      fate.request = own.next() * own.pick([4000, 60_000, 360_000]);
      break;
    case "freeze":
      // A user's own process may freeze for an hour, and a function for as long as it lives.
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
