import type { Actor } from "./actor.ts";
import type { Home } from "./home.ts";
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
  /** When a pause was last asked for. A resume at a rate has `liftedAt` here. A resume without a rate has the time when it began, or when its rate ended. */
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
export type Troubled = Key & {
  v: number;
  /** When the late job could have started, or when the run before the retry failed. Readers look at the oldest late jobs and the newest failures first. */
  since: number;
  expiresAt: number;
};
/** A topic that has had such jobs. */
export type TroubledTopic = Key & { v: number };
/** A topic some of whose jobs were parked while it had a rate limit. */
export type Limited = Key & {
  v: number;
  /** Up to when starts were given while more jobs waited for a start. */
  until?: number;
};
/**
 * Up to when the occurrences of all schedules were checked. `to` and `place` are set while a comparison is unfinished: it checks up to `to`, and
 * goes on at the position `place`.
 */
export type Checked = Key & { v: number; until: number; to?: number; place?: string };
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
