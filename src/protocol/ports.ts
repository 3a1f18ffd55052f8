import type { Actor } from "../core/actor.ts";
import type { Item, Key } from "../core/items.ts";
import type { RandomBytes } from "../core/job-id.ts";
import type { Schedule } from "../core/occurrence.ts";
import type { Position } from "../core/position.ts";
import type { TickPart } from "../core/tick-part.ts";
import type { Sizes } from "../core/work-sizes.ts";
import type { Policy } from "../settings/policy.ts";
import type { ProtocolEvent } from "./reports.ts";

/** No try of a write begins at or after this time: ms since the epoch, on the clock of the context. */
export type Deadline = number;

export type Attribute =
  | string
  | number
  | true
  | Readonly<Record<string, string | number>>
  | readonly object[];

/** The values that attributes must have for a write. `undefined`: absent. The pool also requires our version of the layout. */
export type Expected = Readonly<Record<string, string | number | undefined>>;

/** The pool refuses it if the item does not exist or is not as expected. */
export type Change = {
  readonly key: Key;
  readonly expect: Expected;
  readonly set: Readonly<Record<string, Attribute>>;
  readonly remove?: readonly string[];
};

/** `item`: the item after the change, or the item that did not meet the expectation, if there is one. */
export type Changed = { changed: true; item: Item } | { changed: false; item: Item | undefined };

export type Write =
  | { insert: Item }
  | { change: Change }
  | { remove: { readonly key: Key; readonly expect: Expected } }
  | { check: { readonly key: Key; readonly expect: Expected | "absent" } };

export type Transacted =
  | { done: true }
  | {
      done: false;
      /** One value for each write: `false` if its condition held, else the item that did not meet the condition, if any. */
      refused: (Item | undefined | false)[];
    };

/** Some items of a partition in the order of their sort keys. */
export type Page = {
  items: Item[];
  /** Whether the partition has further items before the bound that the caller named. */
  more: boolean;
};

/** Some items of the whole table, in DynamoDB's own order. `next`: the key after which the next page begins; absent: this is the last page. */
export type ScanPage = { readonly items: readonly Item[]; readonly next?: Key };

/**
 * The job pool: one DynamoDB table. Reads are strongly consistent, and writes conditional, except a delete. After a conflict, throttling, a 5xx
 * or a lost answer, a call is repeated until the deadline. If its effect is still unknown then, a single call throws `unavailable`, and a
 * batch returns this error for its entry. No call returns while a request of its own is in flight.
 */
export interface Pool {
  /** Answers in the order of the keys. */
  read(keys: readonly Key[]): Promise<(Item | undefined)[]>;
  insert(items: readonly Item[], by: Deadline): Promise<("inserted" | "exists" | Error)[]>;
  change(change: Change, by: Deadline): Promise<Changed>;
  /** Makes independent changes, of different keys, which remove nothing. `onChanged`: called, if at all, with the index of an applied one. */
  changeMany(
    changes: readonly Change[],
    by: Deadline,
    onChanged?: (index: number) => void,
  ): Promise<("changed" | "refused" | Error)[]>;
  /** Does all of these writes, or none if a condition of one of them does not hold. */
  transact(writes: readonly Write[], by: Deadline): Promise<Transacted>;
  /** Reads items of a partition between two positions: at most `limit` of them, and at most 1 MB. */
  page(pk: string, from: Position, before: Position, limit: number): Promise<Page>;
  /** Reads items of the whole table: at most `limit` of them, and at most 1 MB. Costs what all items cost to read, so no step of a job uses it. */
  scan(after: Key | undefined, limit: number): Promise<ScanPage>;
  /** Adds to counters, and answers them. A lost answer may count twice. `expiresAt`: TTL, s since the epoch. @throws `unavailable` */
  count(
    key: Key,
    amounts: Readonly<Record<string, number>>,
    expiresAt: number,
    by: Deadline,
  ): Promise<Record<string, number>>;
  /** Deletes items. Idempotent: an item that is gone is no error. */
  remove(keys: readonly Key[], by: Deadline): Promise<void>;
  /** When the table was created: ms since the epoch. */
  createdAt(): Promise<number>;
}

/** A topic's ready queue, a topic's DLQ, or the queue in which events of EventBridge wait until they are applied. */
export type QueueName =
  | { readonly topic: string; readonly dead?: true; readonly events?: never }
  | { readonly events: true; readonly dead?: never };

export type Outgoing = {
  readonly body: string;
  /** A whole number from 0 to 900, the longest delay of SQS. */
  readonly delaySeconds: number;
  /** SQS's `MessageGroupId`. */
  readonly group?: string;
};

/** `refused`: SQS never takes it. `missing`: no such queue. `failing`: this queue takes nothing now. `unreachable`: SQS does not answer. */
export type Sent =
  | { outcome: "sent" }
  | { outcome: "refused" | "missing" | "failing" | "unreachable"; reason: string };

export type Received = {
  readonly body: string;
  /** SQS's receipt handle. */
  readonly handle: string;
  /** SQS's receive count, this receive included. */
  readonly receives: number;
};

/** How many messages of a queue are ready, delayed and in flight, as SQS counts them: approximately. */
export type Depth = { ready: number; delayed: number; inFlight: number };

export interface Queues {
  /** Sends messages in batches of at most 10 messages and 256 KiB. Throws only for a `delaySeconds` outside its range. */
  send(queue: QueueName, messages: readonly Outgoing[]): Promise<Sent[]>;
  /** `max`: 1 to 10. `waitSeconds`: the wait for the first message, 0 to 20. `hideSeconds`: the visibility timeout, 0 to 43,200. */
  receive(
    queue: QueueName,
    options: { max: number; waitSeconds: number; hideSeconds: number },
  ): Promise<Received[]>;
  /** Deletes messages. Idempotent: a message that is gone is no error. `patience`: how long each of three tries may take, ms. */
  remove(queue: QueueName, handles: readonly string[], patience?: number): Promise<void>;
  /** Makes each message invisible for `seconds` (0 to 43,200) from now. A message that is gone is no error. `patience`: as in `remove`. */
  hide(
    queue: QueueName,
    messages: readonly { handle: string; seconds: number }[],
    patience?: number,
  ): Promise<void>;
  depth(queue: QueueName): Promise<Depth>;
}

/** One-time schedules of EventBridge Scheduler. Each promotes a job that is due in more than `longDelay`, and has the job's id as name. */
export interface Promotions {
  /** Creates or replaces the schedule that fires at `time` (ms since the epoch), usually at most a minute late. */
  put(id: string, time: number): Promise<void>;
  /** Deletes the schedule of a job. Idempotent. */
  remove(id: string): Promise<void>;
}

export type StoredSchedule = {
  readonly schedule: Schedule;
  /** Whether the schedule has the target, role and DLQ that an update would write now. A deploy may have replaced one of these. */
  readonly isAimed: boolean;
  /** When Scheduler's copy was last written: ms since the epoch. */
  readonly changedAt: number;
};

/** Names have 1 to 64 characters of `0-9a-zA-Z-_.`. @throws `bad-request` if Scheduler refuses a call, `unavailable` if it may do it later */
export interface Schedules {
  /** Creates a schedule. If `from` is given (ms since the epoch, at most five minutes ago), no occurrence is earlier than `from`. */
  create(schedule: Schedule, from: number | undefined): Promise<"created" | "exists">;
  /** Replaces all settings of a schedule. */
  update(schedule: Schedule, from: number | undefined): Promise<"updated" | "missing">;
  read(name: string): Promise<StoredSchedule | undefined>;
  remove(name: string): Promise<"removed" | "missing">;
  /** Lists up to `limit` (1 to 100) names in Scheduler's order, and answers the cursor of the next page. */
  list(limit: number, cursor: string | undefined): Promise<{ names: string[]; cursor?: string }>;
}

/** The event source mappings by which Lambda polls the ready queues. */
export interface EventSources {
  /** Makes Lambda poll a topic's ready queue, or stop polling it, within a minute. Does nothing for a topic without a mapping. */
  enable(topic: string, enabled: boolean): Promise<void>;
}

/** Further invocations, which do a part of a tick's work. */
export interface Sweepers {
  /** How many invocations one tick may start. */
  readonly most: number;
  /** Starts an invocation that does a part of a tick's work, and does not wait for its end. @throws if it may not have started */
  start(part: TickPart): Promise<void>;
  /** Waits, so that these invocations have time to begin. */
  wait(ms: number): Promise<void>;
}

export type Timers = {
  readonly wait: (ms: number) => Promise<void>;
  /** Calls `act` after `ms`. Answers a function that cancels the call. */
  readonly after: (ms: number, act: () => void) => () => void;
};

/** All services of an operation. The protocol uses no other clock and no other source of randomness. */
export type Context = {
  readonly pool: Pool;
  readonly queues: Queues;
  /** Absent: sweeps find all jobs. */
  readonly promotions?: Promotions;
  /** Absent where nobody files recurring schedules. */
  readonly schedules?: Schedules;
  /** Absent: consumers alone keep to a pause. */
  readonly eventSources?: EventSources;
  /** Absent: a tick does all its work in one invocation. */
  readonly sweepers?: Sweepers;
  /** Answers ms since the epoch. */
  readonly clock: () => number;
  readonly random: RandomBytes;
  readonly policy: Policy;
  readonly sizes: Sizes;
  readonly report: (event: ProtocolEvent) => void;
  /** Who asks, for the timelines of the jobs that are changed. Called only for a change. Absent: the queue itself. */
  readonly by?: () => Actor;
  /** The context of the whole process, if this one is for one call: see `actingFor`. */
  readonly process?: Context;
};
