import { type Home, type KeyItem, keyKey, type Tombstone, tombstoneKey } from "../../core/items.ts";
import { isUnreadable } from "../../core/readable.ts";
import type { Context, Expected, Write } from "../ports.ts";
import { readHomesApart } from "./read-job.ts";
import { cannotRead, readable } from "./unreadable.ts";

/** What stands under a caller's own key. */
export type KeyHolder = {
  item: KeyItem | undefined;
  /** The job that it names, live or finished, if it is stored still. */
  holder: Home | undefined;
  tombstone: Tombstone | undefined;
};

/** `withTombstone`: only topics whose jobs events cancel have any. Throws `unavailable` where one of them cannot be read. */
export async function readKeyHolder(
  ctx: Context,
  topic: string,
  key: string,
  withTombstone: boolean,
): Promise<KeyHolder> {
  const places = [keyKey(topic, key), ...(withTombstone ? [tombstoneKey(topic, key)] : [])];
  const [read, left] = (await ctx.pool.read(places)) as [KeyItem | undefined, Tombstone | undefined];
  const item = readable(read, `key ${key} of topic ${topic}`);
  const tombstone = readable(left, `what events left of key ${key} of topic ${topic}`);
  const [holder] = item ? await readHomesApart(ctx, [item.id]) : [];
  if (holder instanceof Error) throw holder;
  if (isUnreadable(holder)) throw cannotRead(holder);
  return { item, holder, tombstone };
}

type Named = { topic: string; key?: string };

/** Holds a transaction to a key being as read: nobody has filed a job under it since. */
export function keyAsRead({ topic, key = "" }: Named, item: KeyItem | undefined): Write {
  return { check: { key: keyKey(topic, key), expect: item ? { id: item.id } : "absent" } };
}

/**
 * Holds a transaction to a tombstone being as read: or an event that comes between the reading and the writing would find
 * no job, and the job no tombstone.
 */
export function tombstoneAsRead({ topic, key = "" }: Named, tombstone: Tombstone | undefined): Write {
  const expect = tombstone ? standsAs(tombstone) : "absent";
  return { check: { key: tombstoneKey(topic, key), expect } };
}

/** All of a tombstone that anyone goes by. */
export function standsAs({ events, eventAt, until, reach }: Tombstone): Expected {
  return { events, eventAt, until, reach };
}

/** Whether a tombstone cancels a job. Within a second, as EventBridge counts, the event that cancels is the later one. */
export function liesUnder(
  { createdAt, eventAt }: Home,
  tombstone: Pick<Tombstone, "eventAt" | "until">,
): boolean {
  // rule: earlier-event-files-nothing-alive
  if (eventAt !== undefined && eventAt <= tombstone.eventAt) return true;
  // What no event files is filed after one that has been told, though a clock that is behind says otherwise.
  return tombstone.eventAt < tombstone.until && createdAt < tombstone.until;
}
