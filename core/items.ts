import { BUCKET, STALE_AFTER } from "./constants.ts";
import { addressOf, isJobId } from "./job-id.ts";
import type { KeptOptions } from "./job-options.ts";
import type { Position } from "./position.ts";

/**
 * The items of the job pool. Each carries the version of its layout. It rises only where older code would misread an item:
 * such code then leaves it alone until the newer one is back (`readable.ts`), and no change of the pool touches it. An
 * attribute that older code may ignore needs no new version. Cursors and `meta` never change their layout, or older code
 * could run no job at all.
 *
 * Times are ms since the epoch, but for `expiresAt`: DynamoDB's TTL counts seconds.
 */
export const ITEM_VERSION = 1;

export type Key = { readonly pk: string; readonly sk: string };

export type State = "scheduled" | "running" | "done" | "cancelled" | "dead" | "expired";

/** A job. It is written three times in a usual life, and an update is billed by the whole item. */
export type Home = Key &
  KeptOptions & {
    v: number;
    id: string;
    topic: string;
    /** JSON text as it stands in messages. */
    body: string;
    state: State;
    /** When it runs next, or ran. */
    dueAt: number;
    /** What a user asked for last; retries keep it, and `expiresAfter` counts from it. */
    wantedAt: number;
    /** How often the job was moved. */
    revision: number;
    /** The number of the latest run, 0 before the first. */
    attempt: number;
    /** When it was filed; of a job that an event has filed when that happened. */
    createdAt: number;
    /** When the event happened that filed it, or replaced it last. */
    eventAt?: number;
    /** When the latest event happened that found it and kept it, or whose job a caller has replaced since. */
    keptAt?: number;
    /** When a caller or an event last had it moved, replaced or redriven, or an event had it filed. */
    askedAt?: number;
    untracked?: true;
    /** Never stored: its message is a spare one (`MessageJob`). */
    spare?: true;
    /** When it may start, as its topic was paused, or has a limit or a window; from `heldFrom` on it waits for that alone. */
    heldUntil?: number;
    heldFrom?: number;
    /** The `heldUntil` that a window gave far ahead, which no limit has counted: it is no start for a limit of a later deploy. */
    uncounted?: number;
    /** A schedule was asked to promote it. */
    hasSchedule?: true;
    /** How often it got a full set of attempts again after a run: redriven, or changed by its user. */
    restarts?: number;
    key?: string;
    /** Of an untracked job that a release lets go: the start that the release itself sends it for, so that no sweep does. */
    sentFor?: number;
    /** Of a cancelled untracked job: when the cancel was seen to have come before any sweep could send the job. */
    inTimeAt?: number;
    /** When an event cancelled it while it ran: it does not run again, however that run ends. */
    cancelAskedAt?: number;
    /** As long as postponing it may put it off. */
    postponeUntil?: number;
    /** When the message was sent that its claim, or what ended it instead, met since the last move. */
    sentAt?: number;
    /** The last ten bulks that moved or cancelled it, the newest first, and when it was due until then: `<id> <ms>` of each. */
    bulk?: string;
    /** The once items that name it: `<expiresAt> <token>` in lines, the last ten. They must outlive the job. */
    once?: string;
    /** The calls with an `Idempotency-Key` that changed it: `<hash of the key>.<hash of the request>` in lines, the last ten. */
    calls?: string;
    /** What happened to it before, as whoever moved it knew: oldest first, the last ones only. */
    log?: LogEntry[];
    /** Of the claim in hand, or of the last one when done. */
    token?: string;
    leaseEnd?: number;
    claimedAt?: number;
    /** How much of the time from its start to its claim pauses took that it spent in its queue: ms; absent: none. */
    pausedMs?: number;
    finishedAt?: number;
    lastError?: string;
    /** `<verb>:<token>` of the settle that ended the last claim, for a call repeated with its receipt. */
    settledBy?: string;
    expiresAt?: number;
  };

/** A job without its body, which may have 200 KiB: what is kept of jobs that are many. */
export type Head = Omit<Home, "body">;

/** One thing that happened to a job, at `at`. Times are ms. Short names, as an update is billed by the whole item. */
export type LogEntry = {
  what: "sent" | "claimed" | "failed" | "asked-to-retry" | "moved" | "dead";
  at: number;
  /** Of which run. */
  attempt?: number;
  /** Of a move: to when. */
  dueAt?: number;
  /** Of a claim: how long after the job could start, which holds put off. */
  late?: number;
  error?: string;
};

/**
 * Look at that job then. `since`: when a job was first met that could not be read, or whose topic no policy names and whose queue
 * took nothing, and that this look is for.
 */
export type Look = Key & { v: number; id: string; expiresAt: number; since?: number };
export type KeyItem = Key & { v: number; id: string; expiresAt?: number };
/**
 * `unsent`: until its untracked job is known to be sent, or to be left to a sweep. `filedAs`: whether its job got a home with it;
 * absent: an earlier version filed it.
 */
export type OnceItem = Key & {
  v: number;
  id: string;
  hash: string;
  expiresAt: number;
  unsent?: true;
  filedAs?: "home" | "message";
};
/**
 * When the latest event happened that cancelled the jobs of a key: those of events that happened before are cancelled as they
 * are filed. So is whatever is filed until `until`, which is later than `eventAt` where an event found no job. `events`: the
 * ids, in lines, of the last that were told. `reach`: the latest until which any of the key's events would have cancelled.
 */
export type Tombstone = Key & {
  v: number;
  events: string;
  eventAt: number;
  until: number;
  reach: number;
  expiresAt: number;
};
export type TrailEntry = { position: Position; reachedAt: number };
/** Its texts are positions, or what earlier versions wrote: `readCursor` tells them apart. */
export type Cursor = Key & {
  v: number;
  swept: string;
  audited: string;
  trail: { position: string; reachedAt: number }[];
};
/** Which dead jobs a call that named none has chosen: their ids, in lines. Its repeat redrives no others. */
export type Chosen = Key & { v: number; ids: string; request: string; expiresAt: number };
/** A bulk that a call with an `Idempotency-Key` has begun, as its repeats go on with it. Times are ms since the epoch. */
export type Begun = Key & {
  v: number;
  startedAt: number;
  from: number;
  to: number;
  nextAt: number;
  expiresAt: number;
};
export type DeadEntry = Key & { v: number; id: string; revision: number; expiresAt: number };
export type Meta = Key & { v: number; shards: number };
/** From a pause to its resume. `startsBefore`: it held no job that was to start then or later. */
export type PauseSpan = { since: number; until: number; startsBefore?: number };
/**
 * A topic that is paused, or is being resumed until its parked jobs are let go. `changedAt`: when it became so. `since`: when
 * it was paused last.
 * Resumed ones start at `rate` a second, the next at `nextAt`. `earlier`: when it was paused before.
 * `givenRate`: how many starts a second earlier rates have given before `givenUntil`, which stay.
 * `liftedAt`: when it was asked to go on, whatever its resume became since. `followedAt`: when consumers do so at the latest.
 */
export type Pause = Key & {
  v: number;
  state: "paused" | "resuming";
  since: number;
  changedAt: number;
  liftedAt?: number;
  followedAt?: number;
  rate?: number;
  nextAt?: number;
  givenRate?: number;
  givenUntil?: number;
  earlier?: PauseSpan[];
  /** Set when it is over. */
  expiresAt?: number;
};
/**
 * A job that waits for its topic's resume, or for a start of its topic's limit. A release lets it go, if it is at that
 * revision still. `from`: since when it waits for that; absent: since its due time. `start`: when it was to start as it was
 * parked; absent: at its due time. `last`: up to when it can use a start; absent: always. `mark`: of an untracked job, drawn
 * anew whenever somebody parks it.
 */
export type Parked = Key & {
  v: number;
  id: string;
  revision: number;
  from?: number;
  start?: number;
  last?: number;
  mark?: string;
};
/**
 * A topic that has a limit, or had one, whose jobs may be parked for it. `until`: up to when starts were given while jobs
 * were left without one.
 */
export type Limited = Key & { v: number; until?: number };
/** A topic that was paused once. */
export type PausedTopic = Key & { v: number };

export type Item =
  | Home
  | Look
  | KeyItem
  | OnceItem
  | Chosen
  | Begun
  | Cursor
  | DeadEntry
  | Meta
  | Pause
  | Parked
  | Limited
  | PausedTopic
  | Tombstone;

export const META_KEY: Key = { pk: "meta", sk: "meta" };

/** 13 digits, so that text sorts as time does until the year 2286. */
export function sortable(time: number): string {
  return String(time).padStart(13, "0");
}

/** The partition key of a minute of a shard, such as `2026-03-01T09:30#4`. */
export function bucketOf(time: number, shard: number): string {
  return `${new Date(time).toISOString().slice(0, -8)}#${shard}`;
}

/** The first millisecond of the minute that `time` is in. */
export function minuteOf(time: number): number {
  return time - (time % BUCKET);
}

export function homeKey(id: string): Key {
  const { time, shard } = addressOf(id);
  return { pk: bucketOf(time, shard), sk: `${sortable(time)}#${id}` };
}

/** A look at job `id` at `time`, in the job's own shard. */
export function lookAt(id: string, time: number): Look {
  return {
    pk: bucketOf(time, addressOf(id).shard),
    sk: `${sortable(time)}#${id}#look`,
    v: ITEM_VERSION,
    id,
    expiresAt: ttl(time + STALE_AFTER),
  };
}

/** The time an entry of a bucket is filed under; of text that is no sort key a time that sorts no later. */
export function timeOf(sk: string): number {
  const time = Number(sk.slice(0, 13));
  return Number.isSafeInteger(time) ? time : Number(/^\d*/.exec(sk)?.[0].padEnd(13, "0").slice(0, 13));
}

const ENTRY_KEY = /^\d{13}#([0-9A-Z]{26})(?:#look)?$/;

/** The id in the sort key of a bucket's entry; `undefined`: it is none. */
export function idIn(sk: string): string | undefined {
  const id = ENTRY_KEY.exec(sk)?.[1];
  return id !== undefined && isJobId(id) ? id : undefined;
}

/** Whether an entry of a bucket is a look; any other is a home. */
export function isLookKey(sk: string): boolean {
  return sk.endsWith("#look");
}

export function headOf({ body: _, ...head }: Home): Head {
  return head;
}

export function keyKey(topic: string, key: string): Key {
  return { pk: `key#${topic}#${key}`, sk: "key" };
}

export function tombstoneKey(topic: string, key: string): Key {
  return { pk: `tombstone#${topic}#${key}`, sk: "tombstone" };
}

/**
 * `§<schedule>§<time>`, or `§run <schedule>§<Idempotency-Key>`: once whatever topic the schedule says by then. Events' tokens
 * have a part more.
 */
const OF_SCHEDULE = /^§[^§]+§[^§]+$/;

export function onceKey(topic: string, token: string): Key {
  return { pk: `once#${OF_SCHEDULE.test(token) ? "" : topic}#${token}`, sk: "once" };
}

/** `call`: the hash of the call's `Idempotency-Key`. */
export function chosenKey(topic: string, call: string): Key {
  return { pk: `redrive#${topic}#${call}`, sk: "redrive" };
}

export function begunKey(topic: string, bulk: string): Key {
  return { pk: `bulk#${topic}#${bulk}`, sk: "bulk" };
}

export function cursorKey(shard: number): Key {
  return { pk: `cursor#${shard}`, sk: "cursor" };
}

export function pauseKey(topic: string): Key {
  return { pk: `pause#${topic}`, sk: "pause" };
}

/** The partition of all topics that have a limit, or had one. */
export const LIMITED_TOPICS = "limited";

export function limitedKey(topic: string): Key {
  return { pk: LIMITED_TOPICS, sk: topic };
}

/** The partition of all topics that were ever paused. */
export const PAUSED_TOPICS = "paused";

export function pausedTopicKey(topic: string): Key {
  return { pk: PAUSED_TOPICS, sk: topic };
}

/** The partition key of a topic's parked jobs of one shard. */
export function parkedIn(topic: string, shard: number): string {
  return `paused#${topic}#${shard}`;
}

export function parkedKey(home: Home): Key {
  const { topic, id, revision } = home;
  return { pk: parkedIn(topic, addressOf(id).shard), sk: `${sortable(turnOf(home))}#${id}#${revision}` };
}

/** The time by which parked jobs are sorted: the due time. For a job that was postponed beyond its bound, the bound. */
export function turnOf({ dueAt, postponeUntil = dueAt }: Pick<Home, "dueAt" | "postponeUntil">): number {
  return Math.min(dueAt, postponeUntil);
}

const NOTE_KEY = /^\d{13}#([0-9A-Z]{26})#(\d{1,15})$/;

/** What a parked job's note says, most of it by its key alone; `undefined`: it is none. */
export function noteIn(item: Item): Parked | undefined {
  const { pk, sk, v } = item;
  const [, id = "", revision] = NOTE_KEY.exec(sk) ?? [];
  if (!isJobId(id)) return undefined;
  const from = "from" in item && typeof item.from === "number" ? { from: item.from } : {};
  const start = "start" in item && typeof item.start === "number" ? { start: item.start } : {};
  const last = "last" in item && typeof item.last === "number" ? { last: item.last } : {};
  const mark = "mark" in item && typeof item.mark === "string" ? { mark: item.mark } : {};
  return { pk, sk, v, id, revision: Number(revision), ...from, ...start, ...last, ...mark };
}

/** The counters of a topic's starts in one minute: attributes `s0` to `s59`, by the second. */
export function startsKey(topic: string, minute: number): Key {
  return { pk: `starts#${topic}#${new Date(minute).toISOString().slice(0, -8)}`, sk: "starts" };
}

export function deadKey(topic: string, time: number, id: string): Key {
  return { pk: deadDay(topic, time), sk: `${sortable(time)}#${id}` };
}

/** The partition key of a topic's dead entries of one day (UTC). */
export function deadDay(topic: string, time: number): string {
  return `dead#${topic}#${new Date(time).toISOString().slice(0, 10)}`;
}

/** DynamoDB's TTL in whole seconds, never earlier than `time`. */
export function ttl(time: number): number {
  // rule: ttl-in-seconds
  return Math.ceil(time / 1000);
}
