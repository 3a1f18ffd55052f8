import { CALLER_AHEAD } from "../../core/constants.ts";
import type { Home } from "../../core/home.ts";
import { homeKey, keyItemKey, tombstoneKey } from "../../core/item-keys.ts";
import type { KeyItem, Tombstone } from "../../core/items.ts";
import { requireReadable, unreadableError } from "../../core/readable.ts";
import type { Context, Expected, Write } from "../ports.ts";
import { type HomeRead, readHomesApart } from "./read-job.ts";

export type KeyHolder = {
  item: KeyItem | undefined;
  /** Live or finished. `undefined` if there is no item, or if TTL has deleted the job. */
  holder: Home | undefined;
  tombstone: Tombstone | undefined;
};

/** Topics without cancelling events have no tombstones. @throws `unavailable` */
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

async function readHolder(ctx: Context, id: string): Promise<Home | undefined> {
  const [[, read]] = (await readHomesApart(ctx, [{ id }])) as [[unknown, HomeRead]];
  if (read.is === "unknown") throw read.error;
  if (read.is === "unreadable") throw unreadableError(read.home);
  return read.is === "found" ? read.value : undefined;
}

type Named = { topic: string; key?: string };

/** The transaction fails if somebody has filed a job under the key since it was read. */
export function expectKeyUnchanged({ topic, key = "" }: Named, item: KeyItem | undefined): Write {
  return { check: { key: keyItemKey(topic, key), expect: item ? { id: item.id } : "absent" } };
}

/** The transaction fails if an event has changed the tombstone since it was read: event and job would miss each other. */
export function expectTombstoneUnchanged(
  { topic, key = "" }: Named,
  tombstone: Tombstone | undefined,
): Write {
  const expect = tombstone ? expectTombstone(tombstone) : "absent";
  return { check: { key: tombstoneKey(topic, key), expect } };
}

/** All attributes of a tombstone on which code acts. */
export function expectTombstone({ events, eventAt, until }: Tombstone): Expected {
  return { events, eventAt, until };
}

type DeadJob = { id: string; state?: string; revision?: number };

/** A redrive may bring a dead job back to life meanwhile. */
export function stillDead({ id, state, revision }: DeadJob): Write {
  return { check: { key: homeKey(id), expect: { state, revision } } };
}

/** When somebody asked for a job last: its latest event, or its caller, whose clock may be ahead by `CALLER_AHEAD`. */
export function askedFor({ createdAt, eventAt }: Home): number {
  return eventAt ?? createdAt - CALLER_AHEAD;
}

/** An event has cancelled a key's jobs since an event of time `at`. Of two events in the same second, the cancel wins. */
export function isCancelledSince(at: number, tombstone: Tombstone): boolean {
  // rule: later-cancel-stands
  return at <= tombstone.eventAt;
}

/** Whether a tombstone cancels a job that is about to be filed. */
export function isCancelledByTombstone({ createdAt, eventAt }: Home, tombstone: Tombstone): boolean {
  if (eventAt !== undefined && isCancelledSince(eventAt, tombstone)) return true;
  // An event that found its job has `until` equal to `eventAt`. It cancels no caller's job, even if the caller's clock is behind.
  return tombstone.eventAt < tombstone.until && createdAt < tombstone.until;
}
