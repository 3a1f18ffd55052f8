import { type Draws, drawsOf } from "../draws.ts";
import type { Call } from "../network.ts";
import type { Row } from "../services/expressions.ts";
import { problem } from "../services/service.ts";
import { type Try, throttled } from "./fate.ts";
import type { Lot } from "./lot.ts";

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

const MINUTE = 60_000;
const HALF_AN_HOUR = 30 * MINUTE;
const LASTING_SPELLS = new Set<SpellKind>(["partitions-fail", "slow-ticks", "requests-fail", "sources-down"]);
const LASTING = 15 * MINUTE;
const FAILS_FOR = 40_000;
/** ms that a tick waits for an answer at most: each call is answered before its caller gives up. */
const SLOW_ANSWER = 4000;

/** Draws the spells of a seed. `longest`: ms. */
export function drawSpells(lot: Lot, longest: number): Spell[] {
  return SPELLS.flatMap((kind) => {
    const own = drawsOf(lot.seed, kind);
    const { from, to } = spanOf(kind, lot, own, longest);
    const [topic, shard] = [own.pick(lot.topics), own.whole(0, lot.stretch.shards - 1)];
    const isDrawn = own.chance(kind === "requests-fail" ? 0.4 : 0.2);
    const requests = own.pick(KINDS);
    const which = kind === "requests-fail" ? requests.name : topic;
    const what = `${kind} for ${Math.round((to - from) / 1000)} s (${which})`;
    const isHere = lot.isHurt && isDrawn && lot.happens(`spell:${kind}`, what);
    return isHere ? [{ kind, from, to, topic, shard, requests }] : [];
  });
}

function spanOf(
  kind: SpellKind,
  { start, stretch, calmFrom }: Lot,
  own: Draws,
  longest: number,
): { from: number; to: number } {
  // A key that could not be released is released by an audit, a quarter of an hour later.
  const isEarly = kind === "requests-fail";
  const from = start + own.next() * stretch.span * (isEarly ? 0.1 : 1);
  const drawn = own.next() * (LASTING_SPELLS.has(kind) ? Math.max(longest, LASTING) : longest);
  const length = isEarly ? LASTING + drawn : drawn;
  // Ticks may be missing for hours, even after the other faults: only the jobs in the table wait for ticks.
  const outage = own.chance(0.5) ? HALF_AN_HOUR : length * 6;
  return { from, to: kind === "no-ticks" ? from + outage : Math.min(from + length, calmFrom) };
}

/** For how many ms buckets are not written. */
export function unwrittenIn(spells: readonly Spell[]): number {
  return spells
    .filter(({ kind, requests }) => kind === "requests-fail" && requests === UNWRITTEN)
    .reduce((sum, { from, to }) => sum + Math.max(to - from, 0), 0);
}

export function spellsOn(seed: number, spells: readonly Spell[]): (one: Try) => void {
  const refuse = refusalsOf(seed);
  return (one) => {
    const { fate, call, own, now } = one;
    const current = spells.filter(({ from, to }) => from <= now && now < to);
    const storm = (kind: SpellKind): boolean =>
      current.some((spell) => spell.kind === kind && reaches(spell, call));
    if (storm("pool-down") || storm("queues-down") || storm("sources-down") || storm("scheduler-down")) {
      fate.refusal = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    } else if (storm("topic-fails")) fate.refusal = problem("KmsThrottled", "simulated");
    else if (storm("queue-hangs") || storm("shard-hangs")) {
      if (own.chance(0.5)) fate.request = Number.POSITIVE_INFINITY;
      fate.answer = Number.POSITIVE_INFINITY;
    } else if (storm("throttling-storm") && own.chance(0.6)) fate.refusal = throttled();
    else if (storm("slow-ticks")) fate.answer = own.next() * SLOW_ANSWER;
    if (storm("partitions-fail")) failPartitions(one);
    const failing = current.find(({ kind }) => kind === "requests-fail");
    if (failing) refuse(failing.requests, one);
  };
}

function failPartitions({ fate, call, now }: Try): void {
  const codeOf = (pk = ""): string | undefined => (isFailing(pk, now) ? "ThrottlingError" : undefined);
  if (codeOf(partitionOf(call.input))) fate.refusal = throttled();
  fate.entryFails = (_, __, pk) => codeOf(pk);
}

function refusalsOf(seed: number): (kind: Kind, one: Try) => void {
  const answered = new Map<string, number>();
  return ({ operations, places, sick, isLater }, { fate, call, now }) => {
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

function namesBucketOf(shard: number, input: object): boolean {
  return new RegExp(`T\\d\\d:\\d\\d#${shard}"`).test(JSON.stringify(input));
}

function partitionOf(input: object): string | undefined {
  const { Key, Item = Key, ExpressionAttributeValues: values } = input as Record<string, Row | undefined>;
  return (Item?.pk ?? values?.[":pk"])?.S;
}

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
