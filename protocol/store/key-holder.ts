import { CLOCK_MARGIN } from "../../core/constants.ts";
import {
  type Home,
  homeKey,
  type KeyItem,
  keyItemKey,
  type Tombstone,
  tombstoneKey,
} from "../../core/items.ts";
import type { Context, Expected, Write } from "../ports.ts";
import type { HomeRead } from "./read.ts";
import { readHomesApart } from "./read-job.ts";
import { requireReadable, unreadableError } from "./unreadable.ts";

/** The items that belong to a caller's own key. */
export type KeyHolder = {
  item: KeyItem | undefined;
  /** The job that `item` names, live or finished. `undefined` if there is no item, or if TTL has deleted the job. */
  holder: Home | undefined;
  tombstone: Tombstone | undefined;
};

/**
 * Reads the items of a key, and the home of the job that the key names.
 * @param withTombstone whether to read the tombstone too. Only topics whose jobs are cancelled by events have tombstones.
 * @throws `unavailable` if one of these items cannot be read
 */
export async function readKeyHolder(
  ctx: Context,
  topic: string,
  key: string,
  withTombstone: boolean,
): Promise<KeyHolder> {
  const places = [keyItemKey(topic, key), ...(withTombstone ? [tombstoneKey(topic, key)] : [])];
  const [read, left] = (await ctx.pool.read(places)) as [KeyItem | undefined, Tombstone | undefined];
  const item = requireReadable(read, `a key of topic ${topic}`);
  const tombstone = requireReadable(left, `the tombstone of a key of topic ${topic}`);
  return { item, holder: item && (await readHolder(ctx, item.id)), tombstone };
}

/** Reads the home of the job that a key names. @throws `unavailable` if the home cannot be read */
async function readHolder(ctx: Context, id: string): Promise<Home | undefined> {
  const [[, read]] = (await readHomesApart(ctx, [{ id }])) as [[unknown, HomeRead]];
  if (read.is === "unknown") throw read.error;
  if (read.is === "unreadable") throw unreadableError(read.home);
  return read.is === "found" ? read.value : undefined;
}

type Named = { topic: string; key?: string };

/** Makes a transaction fail if somebody has filed a job under the key since the key's item was read. */
export function expectKeyUnchanged({ topic, key = "" }: Named, item: KeyItem | undefined): Write {
  return { check: { key: keyItemKey(topic, key), expect: item ? { id: item.id } : "absent" } };
}

/**
 * Makes a transaction fail if an event has changed the tombstone since it was read. Otherwise an event that comes between the
 * read and the write would find no job, and the job would find no tombstone.
 */
export function expectTombstoneUnchanged(
  { topic, key = "" }: Named,
  tombstone: Tombstone | undefined,
): Write {
  const expect = tombstone ? expectTombstone(tombstone) : "absent";
  return { check: { key: tombstoneKey(topic, key), expect } };
}

/** Answers the attributes by which a write checks that a tombstone has not changed: all attributes on which code acts. */
export function expectTombstone({ events, eventAt, until }: Tombstone): Expected {
  return { events, eventAt, until };
}

/** Makes the check that a job is still dead, because a redrive may bring the job back to life meanwhile. */
export function stillDead({ id, state, revision }: Home): Write {
  return { check: { key: homeKey(id), expect: { state, revision } } };
}

/**
 * Answers when somebody asked for a job last: the time of the latest event that filed, replaced or kept the job. If no event has, the
 * time when a caller filed it. The caller's clock may be ahead of the events' clock, so `CLOCK_MARGIN` is subtracted from this time.
 */
export function askedFor({ createdAt, eventAt }: Home): number {
  return eventAt ?? createdAt - CLOCK_MARGIN;
}

/**
 * Says whether an event has cancelled a key's jobs after another event of time `at`. EventBridge counts times in whole seconds. If two
 * events have the same second, the event that cancels counts as the later one.
 */
export function isCancelledSince(at: number, tombstone: Tombstone): boolean {
  // rule: later-cancel-stands
  return at <= tombstone.eventAt;
}

/** Says whether a tombstone cancels a job that is about to be filed. */
export function isCancelledByTombstone({ createdAt, eventAt }: Home, tombstone: Tombstone): boolean {
  if (eventAt !== undefined && isCancelledSince(eventAt, tombstone)) return true;
  // If the event found a job to cancel, its tombstone has `until` equal to `eventAt`. Such a tombstone does not cancel the
  // jobs of callers: they are filed after the event, even if a caller's clock is behind and `createdAt` is earlier.
  return tombstone.eventAt < tombstone.until && createdAt < tombstone.until;
}
