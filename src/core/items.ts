import type { Actor } from "./actor.ts";
import { BUCKET, STALE_AFTER, TROUBLED_AFTER } from "./constants.ts";
import { addressOf, isJobId } from "./job-id.ts";
import type { KeptOptions } from "./job-options.ts";
import type { Position } from "./position.ts";

/**
 * The version of the items' layout, in each item's `v`. Raise it only if older code would misread an item. Older code leaves an
 * item of a newer version alone (`readable.ts`), and no change of the pool touches it. An attribute that older code may ignore
 * needs no new version. Cursors and `meta` never change their layout, or older code could run no job at all.
 *
 * All times in items are ms since the epoch, except `expiresAt`: DynamoDB's TTL counts seconds.
 */
export const ITEM_VERSION = 1;

export type Key = { readonly pk: string; readonly sk: string };

export type State = "scheduled" | "running" | "done" | "cancelled" | "dead" | "expired";

/** What a caller, an event or a schedule has asked for. */
type Asked = KeptOptions & {
  topic: string;
  /** JSON text as it stands in messages. */
  body: string;
  key?: string;
  untracked?: true;
  /** When the job was filed. If an event filed it: when that event happened. */
  createdAt: number;
  /**
   * The due time that was asked for last, with the random part of its `spread`. It may lie before `dueAt`: whoever asks late, the job is due at
   * once. Retries keep it, and `expiresAfter` counts from it.
   */
  wantedAt: number;
  /** When a caller or an event last moved, replaced or redrove the job, or when an event filed it. */
  askedAt?: number;
  /** The time of the latest event that filed, replaced or kept the job. */
  eventAt?: number;
  /** Up to when the job may be postponed. */
  postponeUntil?: number;
};

/** When the job may start. */
type Start = {
  /** When the job is due: the time of its next run, or of its last. */
  dueAt: number;
  /** Set if the time that was asked for had passed when the job was filed or moved. Then `ifLate` counts from `wantedAt`, until a retry. */
  askedLate?: true;
  /** The start that a pause, a limit or a window gave the job. The time before it does not count as lateness. */
  heldUntil?: number;
  /** Set if a schedule that promotes the job was requested. The schedule may be missing. */
  hasSchedule?: true;
};

/** The present claim, or the last one if the job has ended. */
type Claim = {
  token: string;
  leaseEnd: number;
  claimedAt: number;
  /** An event asked for a cancel during the run: the job does not run again, unless a `keep`, or a change after a crash, lifts the cancel. */
  cancelAskedAt?: number;
};
/** Since its last move the job has not been claimed. */
type NoClaim = {
  token?: never;
  leaseEnd?: never;
  cancelAskedAt?: never;
  /** When the job was claimed before its last move. */
  claimedAt?: number;
};

type End = { finishedAt: number; expiresAt: number };
/** `expiresAt`: only of an untracked job. */
type NoEnd = { finishedAt?: never; expiresAt?: number };

/** What the queue itself notes of a job. */
type Bookkeeping = {
  v: number;
  id: string;
  /** How often the job was moved. */
  revision: number;
  /** Attempts used, a present run included. A redrive, a reschedule or a replacement sets 0. A run that asked for another does not count. */
  attempt: number;
  /** Never stored. The job may have been sent before, and the present sender only makes sure that there is a message. */
  spare?: true;
  /** When the message was sent that led to the job's present claim, or to its end without a claim. A move removes this time. */
  sentAt?: number;
  /** Set if the job has run since its last restart, and its time was then changed, which sets `attempt` to 0. */
  hasRun?: true;
  /** How often the job was redriven, or was changed to something else after it had run. */
  restarts?: number;
  /** The last ten bulks that moved or cancelled the job, newest first: `<id of the bulk> <due time before the bulk, in ms>` of each. */
  bulk?: string;
  /** The last ten once items that name the job, a line each: `<expiresAt> <token>`. The items must outlive the job. */
  once?: string;
  /** The last ten calls with an `Idempotency-Key` that changed the job, a line each: `<hash of the key>.<hash of the request>`. */
  calls?: string;
  /** What happened to the job before its last move: the last entries, oldest first. Each move adds what it overwrites. */
  log?: LogEntry[];
  /** Who cancelled the job. An event that cancelled the job's run is known by `cancelAskedAt`. */
  cancelledBy?: Actor;
  lastError?: string;
  /** The last ten settles of pulled runs that did not succeed, a line each: `<verb>:<token>`. A repeat with the same receipt is recognised. */
  settledBy?: string;
};

/** A job. A job that succeeds at once costs three writes: file, claim, settle. Each write is billed by the size of the whole item. */
export type Home = Key &
  Asked &
  Start &
  Bookkeeping &
  (
    | ({ state: "scheduled" } & NoClaim & NoEnd)
    | ({ state: "running" } & Claim & NoEnd)
    | ({ state: "done" } & Claim & End)
    | ({ state: "expired" } & NoClaim & End)
    | ({ state: "cancelled" } & (Claim | NoClaim) & End)
    | ({ state: "dead" } & (Claim | NoClaim) & End)
  );
/** The home of a job in one of these states. */
export type HomeIn<S extends State> = Extract<Home, { state: S }>;

/** A job without its body. Code that keeps many jobs in memory keeps heads: a body may have 200 KiB. */
export type Head = HeadOf<Home>;
type HeadOf<H> = H extends unknown ? Omit<H, "body"> : never;

/** One thing that happened to a job, at the time `at`. */
export type LogEntry = {
  what: "sent" | "claimed" | "failed" | "asked-to-retry" | "retried" | "moved" | "dead";
  at: number;
  /** The number of the run, if the entry is about one. */
  attempt?: number;
  /** Of a move or a retry: the new due time. */
  dueAt?: number;
  /** Who moved the job. */
  by?: Actor;
  /** Of a claim: how late the run started, in ms. Holds do not count. */
  late?: number;
  error?: string;
};

/** An entry of a bucket. It makes a sweep and an audit look at job `id` at the time in the entry's sort key. */
export type Look = Key & {
  v: number;
  id: string;
  expiresAt: number;
  /** Since when the job could not be handed over: an unreadable or untracked job, or a job whose topic no policy names. */
  since?: number;
};
/** The item of a caller's own key. It names the job that holds the key, or the last job that held it. */
export type KeyItem = Key & {
  v: number;
  id: string;
  expiresAt?: number;
};
/** The item of an `Idempotency-Key` of a job with a key, of an event, or of an occurrence of a schedule. */
export type OnceItem = Key & {
  v: number;
  id: string;
  hash: string;
  expiresAt: number;
};
/** The once item of a call with an `Idempotency-Key`, for tracked jobs of one topic without keys. It fixes their ids while it answers. */
export type SharedOnceItem = Key & {
  v: number;
  /** Each write of the item raises this time. */
  expiresAt: number;
  /** When the item was written first. Earlier versions wrote no such time. */
  writtenAt?: number;
  /** Random text. */
  seed: string;
  /** How many shards there were when the item was written first. */
  shards: number;
  /** The due times with which the jobs were filed, in the order of the batch: `src/core/due-times.ts`. */
  dueAts: string;
  /** For each job of the batch, the first characters of the hash of its request: `src/protocol/store/shared-once-item.ts`. */
  hashes: string;
};
/** What an event that cancels leaves under its key, whether it found a job or not. */
export type Tombstone = Key & {
  v: number;
  /** The ids of the key's last events that cancel, a line each. */
  events: string;
  /** The time of the latest of these events. If an event with this time or an earlier one files a job, the job is cancelled at once. */
  eventAt: number;
  /** Later than `eventAt` if that event found no job. Then each job that is filed before this time is cancelled at once. */
  until: number;
  expiresAt: number;
};
export type TrailEntry = { position: Position; reachedAt: number };
/** How far a shard was swept and audited. The texts are positions, or sort keys if an earlier version wrote them: see `readCursor`. */
export type Cursor = Key & {
  v: number;
  swept: string;
  /** The ranges after `swept` whose jobs are handed over too (`src/core/ranges.ts`). Absent if there are none. */
  ahead?: string;
  audited: string;
  trail: { position: string; reachedAt: number }[];
  /** Names the sweep that moved `swept` and `ahead` last. An earlier version also named the audits that moved `audited`. */
  writer?: string;
  /** Names the audit that moved `audited` last. Earlier versions wrote none. */
  auditor?: string;
};
/** The dead jobs that a redrive without ids has chosen: their ids, a line each. A repeat of the call redrives the same jobs. */
export type Chosen = Key & { v: number; ids: string; request: string; expiresAt: number };
/** A bulk that a call with an `Idempotency-Key` has begun. A repeat of the call begins the same bulk again, with the same times. */
export type BulkNote = Key & {
  v: number;
  /** The hash of the request. */
  request: string;
  /** The id of the bulk. */
  bulk: string;
  startedAt: number;
  from: number;
  to: number;
  nextAt: number;
  expiresAt: number;
};
export type DeadEntry = Key & { v: number; id: string; revision: number; expiresAt: number };
/** `shards`: how many have cursors; only grows. `filed`: into how many writers file jobs; absent: into all of them. */
export type Meta = Key & { v: number; shards: number; filed?: number };
/** A topic that is paused. While it is `resuming`, releases still send jobs that were parked. */
export type Pause = Key & {
  v: number;
  state: "paused" | "resuming";
  /** When the topic was paused last. */
  since: number;
  /** Of a pause: when it was last asked for. Of a resume at a rate: `liftedAt`. Without a rate: when it began, or its rate ended. */
  changedAt: number;
  /** Who paused the topic or, in a resume, who resumed it. */
  by?: Actor;
  /** When the topic was resumed. A later change of the rate does not change it. */
  liftedAt?: number;
  /** When consumers run the topic's jobs again, at the latest. */
  followedAt?: number;
  /** How many parked jobs start in a second. Absent: all of them start at once. */
  rate?: number;
  /** Set when the pause is over: all jobs that it parked were sent. */
  expiresAt?: number;
};
/** The note of a parked job, which waits for its topic's resume or for a start of its topic's limit. */
export type Parked = Key & {
  v: number;
  id: string;
  /** The job's revision when it was parked. It shows a release whether the job was moved since. */
  revision: number;
  /** Up to when the job can use a start. Absent: always. */
  last?: number;
};
/** A note of a job that is late or waits for a retry, so that the job is found by its topic. Whether it still is so, its home says. */
export type Troubled = Key & { v: number; id: string; expiresAt: number };
/** A topic that has had such jobs. */
export type TroubledTopic = Key & { v: number };
/** A topic some of whose jobs were parked while it had a rate limit. */
export type Limited = Key & {
  v: number;
  /** Up to when starts were given while more jobs waited for a start. */
  until?: number;
};
/** Up to when the occurrences of all schedules were checked. */
export type Checked = Key & { v: number; until: number };
/** A topic that was paused at some time. */
export type PausedTopic = Key & { v: number };
/** A recurring schedule, from which EventBridge Scheduler's copy is made. `sk`: its name. */
export type RecurringItem = Key & {
  v: number;
  /** It rises with each change. */
  revision: number;
  expression: string;
  timezone: string;
  /** ms. */
  flexibleWindow?: number;
  paused?: true;
  /** The input of Scheduler's target (`occurrenceInput`). */
  input: string;
  /** When it became what it is. An earlier occurrence is none of it. */
  changedAt: number;
  /** The schedule is deleted. The item stays for a while, so that Scheduler's copy is deleted too, although a call may fail. */
  removed?: true;
  /** Set once the schedule is deleted. */
  expiresAt?: number;
};

export type Item =
  | Home
  | Look
  | KeyItem
  | OnceItem
  | SharedOnceItem
  | Chosen
  | BulkNote
  | Cursor
  | DeadEntry
  | Meta
  | Pause
  | Parked
  | Limited
  | PausedTopic
  | RecurringItem
  | Checked
  | Troubled
  | TroubledTopic
  | Tombstone;

export const META_KEY: Key = { pk: "meta", sk: "meta" };

/** Text of 13 digits, which sorts in the order of the times until the year 2286. */
export function sortable(time: number): string {
  return String(time).padStart(13, "0");
}

/** The partition key of a minute of a shard, such as `2026-03-01T09:30#4`. */
export function bucketOf(time: number, shard: number): string {
  return `${new Date(time).toISOString().slice(0, -8)}#${shard}`;
}

/** Answers the first millisecond of the minute that `time` is in. */
export function minuteOf(time: number): number {
  return time - (time % BUCKET);
}

export function homeKey(id: string): Key {
  const { time, shard } = addressOf(id);
  return { pk: bucketOf(time, shard), sk: `${sortable(time)}#${id}` };
}

export function lookAt(id: string, time: number): Look {
  return {
    pk: bucketOf(time, addressOf(id).shard),
    sk: `${sortable(time)}#${id}#look`,
    v: ITEM_VERSION,
    id,
    expiresAt: ttl(time + STALE_AFTER),
  };
}

/** The time of a bucket's entry. For other text: no later than that of any entry that sorts after it. */
export function timeOf(sk: string): number {
  const time = Number(sk.slice(0, 13));
  return Number.isSafeInteger(time) ? time : Number(/^\d*/.exec(sk)?.[0].padEnd(13, "0").slice(0, 13));
}

const ENTRY_KEY = /^\d{13}#([0-9A-Z]{26})(?:#look)?$/;

export function idIn(sk: string): string | undefined {
  const id = ENTRY_KEY.exec(sk)?.[1];
  return id !== undefined && isJobId(id) ? id : undefined;
}

export function isLookKey(sk: string): boolean {
  return sk.endsWith("#look");
}

export function headOf({ body: _, ...head }: Home): Head {
  return head;
}

export function keyItemKey(topic: string, key: string): Key {
  return { pk: `key#${topic}#${key}`, sk: "key" };
}

export function tombstoneKey(topic: string, key: string): Key {
  return { pk: `tombstone#${topic}#${key}`, sk: "tombstone" };
}

/**
 * The tokens of schedules: `§<schedule>§<time>` and `§run <schedule>§<Idempotency-Key>`. They hold for all topics, because a schedule can change
 * its topic. Tokens of events have one part more.
 */
const OF_SCHEDULE = /^§[^§]+§[^§]+$/;

export function onceKey(topic: string, token: string): Key {
  return { pk: `once#${OF_SCHEDULE.test(token) ? "" : topic}#${token}`, sk: "once" };
}

/** `call`: the hash of the call's `Idempotency-Key`. */
export function chosenKey(topic: string, call: string): Key {
  return { pk: `redrive#${topic}#${call}`, sk: "redrive" };
}

export function bulkNoteKey(topic: string, call: string): Key {
  return { pk: `bulk#${topic}#${call}`, sk: "bulk" };
}

export function cursorKey(shard: number): Key {
  return { pk: `cursor#${shard}`, sk: "cursor" };
}

export function pauseKey(topic: string): Key {
  return { pk: `pause#${topic}`, sk: "pause" };
}

/** The partition of the topics that had a limit while some of their jobs were parked. */
export const LIMITED_TOPICS = "limited";

export function limitedKey(topic: string): Key {
  return { pk: LIMITED_TOPICS, sk: topic };
}

/** The partition of the topics that were paused at some time. */
export const PAUSED_TOPICS = "paused";

export function pausedTopicKey(topic: string): Key {
  return { pk: PAUSED_TOPICS, sk: topic };
}

/** The partition of the recurring schedules. */
export const RECURRING = "recurring";

export const CHECKED_KEY: Key = { pk: "checked", sk: "checked" };

export function recurringKey(name: string): Key {
  return { pk: RECURRING, sk: name };
}

/** The partition of the topics that have had late jobs or retries. */
export const TROUBLED_TOPICS = "troubled";

export function troubledTopicKey(topic: string): Key {
  return { pk: TROUBLED_TOPICS, sk: topic };
}

export function troubledIn(topic: string, shard: number): string {
  return `troubled#${topic}#${shard}`;
}

/** `time`: when an audit looks at the job again, or when its retry is due: ms since the epoch. The note is read until audits have passed it. */
export function troubledAt(topic: string, id: string, time: number): Troubled {
  return {
    pk: troubledIn(topic, addressOf(id).shard),
    sk: `${sortable(time)}#${id}`,
    v: ITEM_VERSION,
    id,
    expiresAt: ttl(time + TROUBLED_AFTER),
  };
}

export function parkedIn(topic: string, shard: number): string {
  return `paused#${topic}#${shard}`;
}

export function parkedKey(home: Head): Key {
  const { topic, id, revision } = home;
  return {
    pk: parkedIn(topic, addressOf(id).shard),
    sk: `${sortable(parkedSortTime(home))}#${id}#${revision}`,
  };
}

/** Parked jobs are sorted by due time, but at most the bound of a postponed job. */
export function parkedSortTime({
  dueAt,
  postponeUntil = dueAt,
}: Pick<Home, "dueAt" | "postponeUntil">): number {
  return Math.min(dueAt, postponeUntil);
}

const NOTE_KEY = /^\d{13}#([0-9A-Z]{26})#(\d{1,15})$/;

/** Id and revision stand in the note's sort key. `undefined` if the item is no note. */
export function parseNote(item: Item): Parked | undefined {
  const { pk, sk, v } = item;
  const [, id = "", revision] = NOTE_KEY.exec(sk) ?? [];
  if (!isJobId(id)) return undefined;
  const last = "last" in item && typeof item.last === "number" ? { last: item.last } : {};
  return { pk, sk, v, id, revision: Number(revision), ...last };
}

/** The key of a minute's counters, of starts or of a resume's turns: `s0` to `s59`, for the periods that begin in each second. */
export function startsKey(topic: string, minute: number, counters: "starts" | "turns" = "starts"): Key {
  return { pk: `starts#${topic}#${minuteText(minute)}`, sk: counters };
}

/** The key of the counter `jobs`: how many jobs callers have filed in a minute in a topic with `maxFiledPerMinute`. */
export function filedKey(topic: string, minute: number): Key {
  return { pk: `filed#${topic}#${minuteText(minute)}`, sk: "filed" };
}

function minuteText(minute: number): string {
  return new Date(minute).toISOString().slice(0, -8);
}

/** The key of the counter `booked`: how many schedules of far jobs are booked on a day (ms since the epoch, UTC). */
export function schedulesKey(day: number): Key {
  return { pk: `schedules#${dayText(day)}`, sk: "schedules" };
}

function dayText(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

export function deadKey(topic: string, time: number, id: string): Key {
  return { pk: deadDay(topic, time), sk: `${sortable(time)}#${id}` };
}

/** Answers the partition of the dead jobs of a day in UTC. */
export function deadDay(topic: string, time: number): string {
  return `dead#${topic}#${dayText(time)}`;
}

/** Converts ms to the whole seconds of DynamoDB's TTL, rounded up: no item is deleted before `time`. */
export function ttl(time: number): number {
  // rule: ttl-in-seconds
  return Math.ceil(time / 1000);
}
