import { BUCKET, DAY, STALE_AFTER, TROUBLED_AFTER } from "./constants.ts";
import type { Head, Home } from "./home.ts";
import { ITEM_VERSION, type Item, type Key, type Look, type Parked, type Troubled } from "./items.ts";
import { addressOf, isJobId } from "./job-id.ts";

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

/** Late jobs and retries have notes of their own, so that neither can hide the other. Also the partitions of the topics that have had such jobs. */
export const TROUBLES = ["late", "retrying"] as const;
export type Trouble = (typeof TROUBLES)[number];

export function troubledTopicKey(trouble: Trouble, topic: string): Key {
  return { pk: trouble, sk: topic };
}

/** So few partitions that reports of many topics read little, and so many that a topic may have some thousand notes a second. */
const TROUBLED_PARTITIONS = 4;

export function troubledIn(trouble: Trouble, topic: string, shard: number): string {
  return `${trouble}#${topic}#${shard % TROUBLED_PARTITIONS}`;
}

/** `time`: when an audit looks at the late job again, or when the retry is due: ms since the epoch. The note is read until that time has passed. */
export type TroubledJob = {
  readonly id: string;
  readonly topic: string;
  readonly time: number;
  readonly since: number;
};

export function troubledAt(trouble: Trouble, { id, topic, time, since }: TroubledJob): Troubled {
  return {
    pk: troubledIn(trouble, topic, addressOf(id).shard),
    sk: `${sortable(time)}#${id}`,
    v: ITEM_VERSION,
    since,
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

/** The key of the counter `jobs`: how many jobs the handlers of a chain have filed on a day. `first`: the id of the chain's first job. */
export function chainKey(first: string, day: number): Key {
  return { pk: `chain#${first}#${dayText(day)}`, sk: "chain" };
}

/** Answers the first millisecond of the day (UTC) that `time` is in. */
export function dayOf(time: number): number {
  return time - (time % DAY);
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
