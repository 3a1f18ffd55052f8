import type { Item, Key } from "../core/items.ts";
import type { RandomBytes } from "../core/job-id.ts";
import type { Schedule } from "../core/occurrence.ts";
import type { Policy } from "../core/policy.ts";
import type { Position } from "../core/position.ts";
import type { Sizes } from "../core/work-sizes.ts";
import type { ProtocolEvent } from "./reports.ts";

/** ms since the epoch, on the clock of the context. No try of a write is issued at or after it. */
export type Deadline = number;

export type Attribute = string | number | true | Readonly<Record<string, string>> | readonly object[];

/**
 * Attributes that must have these values; `undefined`: must be absent. The pool holds the item to the version of our layout
 * beside: what a newer version wrote is never changed.
 */
export type Expected = Readonly<Record<string, string | number | undefined>>;

/** An update of an item that must exist and be as expected. */
export type Change = {
  readonly key: Key;
  readonly expect: Expected;
  readonly set: Readonly<Record<string, Attribute>>;
  readonly remove?: readonly string[];
};

/** What a change met: the item as it is now, or as it stands instead (`undefined`: there is none). */
export type Changed = { changed: true; item: Item } | { changed: false; item: Item | undefined };

export type Write =
  | { insert: Item }
  | { change: Change }
  | { check: { readonly key: Key; readonly expect: Expected | "absent" } };

/** `refused` holds, per write, `false` where its condition held, else the item that stands there, if any. */
export type Transacted = { done: true } | { done: false; refused: (Item | undefined | false)[] };

/** Entries of one bucket, oldest first. `more`: there are further ones before the bound. */
export type Page = { items: Item[]; more: boolean };

/**
 * The job pool: one DynamoDB table. Every read is strongly consistent and every write conditional.
 * What is unknown (conflict, throttling, 5xx, a lost answer) is repeated until the deadline, each try
 * checked against it; after that it is a `MinutehandError` `unavailable`: thrown, or in a batch returned
 * for its entry. No call returns while a request of its own is in flight.
 */
export interface Pool {
  /** The items under these keys, in their order. */
  read(keys: readonly Key[]): Promise<(Item | undefined)[]>;
  /** Inserts each item unless one is there. */
  insert(items: readonly Item[], by: Deadline): Promise<("inserted" | "exists" | Error)[]>;
  change(change: Change, by: Deadline): Promise<Changed>;
  /**
   * Many changes that only set, each on its own; keys must differ. `onChanged` is told the index of a change as soon as it
   * is known to be applied, while others may still be repeated; a pool need not call it.
   */
  changeMany(
    changes: readonly Change[],
    by: Deadline,
    onChanged?: (index: number) => void,
  ): Promise<("changed" | "refused" | Error)[]>;
  /** All or nothing. */
  transact(writes: readonly Write[], by: Deadline): Promise<Transacted>;
  /** Items of a partition between two positions, at most `limit` (or 1 MB) of them. */
  page(pk: string, from: Position, before: Position, limit: number): Promise<Page>;
  /**
   * Adds to counters of an item, creating what is not there, and answers their values after. Repeated after a lost
   * answer it counts twice. `expiresAt`: the item's TTL, seconds since the epoch. Throws `unavailable` where a newer version
   * wrote the item.
   */
  count(
    key: Key,
    amounts: Readonly<Record<string, number>>,
    expiresAt: number,
    by: Deadline,
  ): Promise<Record<string, number>>;
  /** Deletes items, there or not. Of one with a `mark`: unless it has another by then. */
  remove(keys: readonly (Key & { readonly mark?: string })[], by: Deadline): Promise<void>;
  /** When the table was created, ms since the epoch. */
  createdAt(): Promise<number>;
}

/** A topic's ready queue or its DLQ, or the queue that events wait in. */
export type QueueName =
  | { readonly topic: string; readonly dead?: true; readonly events?: never }
  | { readonly events: true; readonly dead?: never };

export type Outgoing = {
  readonly body: string;
  /** 0 to 900. */
  readonly delaySeconds: number;
  readonly group?: string;
};

/**
 * `refused`: SQS never takes this message. `missing`: there is no such queue. `failing`: this queue, for
 * now. `unreachable`: SQS as a whole.
 */
export type Sent =
  | { outcome: "sent" }
  | { outcome: "refused" | "missing" | "failing" | "unreachable"; reason: string };

/** `receives`: how often SQS has handed it out, this time included. */
export type Received = { readonly body: string; readonly handle: string; readonly receives: number };

export type Depth = { ready: number; delayed: number; inFlight: number };

/** The ready queues and their DLQs, and the events' queue: SQS. */
export interface Queues {
  /** Sends in batches of 10 and 256 KiB, and says for each message what became of it. Never throws. */
  send(queue: QueueName, messages: readonly Outgoing[]): Promise<Sent[]>;
  /** Up to `max` (1 to 10) messages, waiting up to `waitSeconds` (0 to 20); they are hidden `hideSeconds`. */
  receive(
    queue: QueueName,
    options: { max: number; waitSeconds: number; hideSeconds: number },
  ): Promise<Received[]>;
  /** Deletes messages; one that is gone is no error. `patience`: ms that each of three tries may take. */
  remove(queue: QueueName, handles: readonly string[], patience?: number): Promise<void>;
  /** Makes messages invisible for `seconds` (0 to 43,200) from now; one that is gone is no error. `patience`: as above. */
  hide(
    queue: QueueName,
    messages: readonly { handle: string; seconds: number }[],
    patience?: number,
  ): Promise<void>;
  depth(queue: QueueName): Promise<Depth>;
}

/** One-time schedules of EventBridge Scheduler that promote jobs which are due long after, named by the jobs' ids. */
export interface Promotions {
  /** Files the schedule that fires at `time` (ms since the epoch, at most a minute late), or replaces it. */
  put(id: string, time: number): Promise<void>;
  /** Deletes it, there or not. */
  remove(id: string): Promise<void>;
}

/** `isAimed`: it invokes what an update would have it invoke now. */
export type StoredSchedule = { readonly schedule: Schedule; readonly isAimed: boolean };

/**
 * The recurring schedules of EventBridge Scheduler, which keeps all of them and nothing else does. Their names are 1 to
 * 64 of `0-9a-zA-Z-_.`. What Scheduler refuses is `bad-request`, what it does not do for now `unavailable`.
 */
export interface Schedules {
  /** `from`: it does not come before (ms since the epoch, at most five minutes ago). */
  create(schedule: Schedule, from: number | undefined): Promise<"created" | "exists">;
  /** Replaces all of it. */
  update(schedule: Schedule, from: number | undefined): Promise<"updated" | "missing">;
  read(name: string): Promise<StoredSchedule | undefined>;
  remove(name: string): Promise<"removed" | "missing">;
  /** Up to `limit` (1 to 100) names, in Scheduler's order, and where the next page begins. */
  list(limit: number, cursor: string | undefined): Promise<{ names: string[]; cursor?: string }>;
}

/** The event source mappings by which Lambda polls the ready queues. */
export interface EventSources {
  /** Lets Lambda poll a topic's ready queue or not; it follows within a minute. A topic without a mapping is passed over. */
  enable(topic: string, enabled: boolean): Promise<void>;
}

/** Timers, so that a simulation can pass its own. */
export type Timers = {
  readonly wait: (ms: number) => Promise<void>;
  /** Calls back after `ms`; what it answers cancels that. */
  readonly after: (ms: number, act: () => void) => () => void;
};

/** All that an operation touches: no other clock, randomness or service. */
export type Context = {
  readonly pool: Pool;
  readonly queues: Queues;
  /** Absent: every job is left to the sweep. */
  readonly promotions?: Promotions;
  /** Absent where nobody files recurring schedules. */
  readonly schedules?: Schedules;
  /** Absent: consumers alone keep to a pause. */
  readonly eventSources?: EventSources;
  /** ms since the epoch. */
  readonly clock: () => number;
  readonly random: RandomBytes;
  readonly policy: Policy;
  readonly sizes: Sizes;
  readonly report: (event: ProtocolEvent) => void;
};
