import { MinutehandError, notFiledError } from "../../core/errors.ts";
import { type Home, homeKey, ITEM_VERSION, type Key, type OnceItem, onceKey } from "../../core/items.ts";
import { addressOf } from "../../core/job-id.ts";
import { type OnceNote, onceText } from "../../core/once.ts";
import { isUnreadable } from "../../core/readable.ts";
import { differentRequest } from "../change/calls.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import type { Context, Write } from "../ports.ts";
import { isFar, syncPromotions } from "../send/far-ahead.ts";
import { sendIfNear } from "../send/send.ts";
import { fileLooks } from "../store/looks.ts";
import { isOnceOver, mayHaveEnded, onceItemTtl } from "../store/once-items.ts";
import { readHomes } from "../store/read-job.ts";
import { requireReadable, unreadableError } from "../store/unreadable.ts";
import { fileKeyed } from "./enqueue-keyed.ts";

/**
 * Files a job that came with an `Idempotency-Key`, and perhaps with a key. A repeat of the request is answered with the same job, until
 * a day after the job's end.
 *
 * A once item names the job. How it is written:
 * - For most jobs it is written before the job's home, because two writes cost half of a transaction. If the call dies in between, a
 *   repeat stores the home under the id that the item names.
 * - For a job with a key, `fileKeyed` writes the item in the transaction that files the job, or that changes the job that holds the key.
 * - For the job of an event or an occurrence, one transaction writes the item and the home. TTL may delete such a home while its once
 *   item must still answer, so the item must prove that the home was stored.
 *
 * @param by the deadline of the times in `home`, ms since the epoch
 * @returns `displaced` if another call keeps this one from storing `home`
 */
export async function fileOnce(
  ctx: Context,
  job: NewJob,
  once: NonNullable<NewJob["once"]>,
  home: Home,
  by: number,
): Promise<Enqueued | "displaced"> {
  const before = await readOnce(ctx, job.topic, once.token);
  const repeat: Repeat = { job, once, home };
  // rule: once-item-outlives-its-job
  const replayed = before && !before.isOver && (await replay(ctx, before, repeat, by));
  if (replayed) return replayed;
  // A repeat is answered before a refusal is thrown: a deployment may have changed the topic's rules since the first call.
  if (job.refusal) throw job.refusal;
  const key = onceKey(job.topic, once.token);
  const isWrittenFirst = job.key === undefined && once.lasts === undefined;
  const name = namingOf(ctx, once, key, before?.item);
  // A home names its once items for moves, which prolong them.
  const noted = { ...home, once: onceText([name(home).note]) };
  try {
    if (job.key !== undefined) return await fileKeyed(ctx, job, noted, name, by);
    if (isWrittenFirst) {
      const { write } = name(home, ctx.clock());
      // rule: once-item-before-its-home
      if (!(await writeAlone(ctx, write, home.id, by))) return "displaced";
    } else {
      const { write } = name(noted);
      // rule: once-item-with-its-home
      const { done } = await ctx.pool.transact([{ insert: noted }, write], by);
      if (!done) return "displaced";
    }
  } catch (error) {
    // A repeat of this request may have filed the job meanwhile.
    const found = await readOnce(ctx, job.topic, once.token);
    // The answer to our own write of the item may have been lost. If this call wrote the item alone, the item does not show that the job was
    // filed.
    const isOurs = isWrittenFirst && found?.item.id === noted.id;
    const outcome = !isOurs && found && !found.isOver && (await replay(ctx, found, repeat, by));
    if (outcome) return outcome;
    if (!isOurs) throw error;
  }
  if (isWrittenFirst) return storeNamed(ctx, noted, by);
  await sendIfNear(ctx, [noted]);
  ctx.report({ type: "enqueued", topic: job.topic, id: home.id, dueAt: home.dueAt });
  return { outcome: "created", home: noted };
}

/**
 * Answers the time, in ms since the epoch, by which the audit will have prolonged the once items of a job. The audit reads a held job
 * again within twice the time that the job has waited so far, or within an hour, for which `ONCE_SLACK` is enough.
 */
export function nextProlongedBy({ dueAt }: Home, now: number): number {
  return dueAt < now ? now + 2 * (now - dueAt) : dueAt;
}

/** A once item as it was read. `isOver`: it answers no repeat any more (`isOnceOver`), so its `Idempotency-Key` is free. */
type Once = { item: OnceItem; isOver: boolean };

async function readOnce(ctx: Context, topic: string, token: string): Promise<Once | undefined> {
  const [read] = (await ctx.pool.read([onceKey(topic, token)])) as [OnceItem | undefined];
  const item = requireReadable(read, `the Idempotency-Key of a job of topic ${topic}`);
  if (!item) return undefined;
  if (!isOnceOver(item, undefined, ctx.clock())) return { item, isOver: false };
  const [home] = await readHomes(ctx, [item.id]);
  return { item, isOver: !isUnreadable(home) && isOnceOver(item, home, ctx.clock()) };
}

/** A request that may have been made before. `home`: the home that it would file. */
type Repeat = { readonly job: NewJob; readonly once: NonNullable<NewJob["once"]>; readonly home: Home };

/** What a once item says, without its key and version. */
type OnceFields = Omit<OnceItem, keyof Key | "v">;

/**
 * Makes the write by which a once item names a job. `over`: the item to overwrite, of an earlier job, which answers no repeat any more.
 */
function onceWrite(says: OnceFields, key: Key, over: OnceItem | undefined): Write {
  if (!over) return { insert: { ...key, v: ITEM_VERSION, ...says } };
  const remove = says.writtenAt === undefined ? ["writtenAt"] : [];
  return { change: { key, expect: { id: over.id }, set: says, remove } };
}

/**
 * Makes the write by which the once item of a call names a job. `before`: the item as it was read. It answers no repeat any
 * more. Absent if there is no item. `writtenAt`: the time of the write, if another write stores the job's home.
 */
function namingOf(
  ctx: Context,
  once: NonNullable<NewJob["once"]>,
  key: Key,
  before: OnceItem | undefined,
): (home: Home, writtenAt?: number) => { write: Write; note: OnceNote } {
  return (home, writtenAt) => {
    const expiresAt = onceItemTtl(nextProlongedBy(home, ctx.clock()), once.lasts);
    const says = { id: home.id, hash: once.hash, expiresAt, ...(writtenAt !== undefined && { writtenAt }) };
    return { write: onceWrite(says, key, before), note: { token: once.token, expiresAt } };
  };
}

/** Writes a once item without a transaction. Answers `false` if another call of the same request has written the item since it was read. */
async function writeAlone(ctx: Context, write: Write, id: string, by: number): Promise<boolean> {
  let found: OnceItem | undefined;
  if ("change" in write) {
    const { changed, item } = await ctx.pool.change(write.change, by);
    if (changed) return true;
    found = item as OnceItem | undefined;
  }
  if ("insert" in write) {
    const [outcome] = await ctx.pool.insert([write.insert], by);
    if (outcome instanceof Error) throw outcome;
    if (outcome === "inserted") return true;
    [found] = (await ctx.pool.read([write.insert])) as [OnceItem | undefined];
  }
  // If the answer to our own write was lost, DynamoDB refuses the repeat of the write, and the item says what we wrote.
  return found?.id === id;
}

export function filedElsewhere(): MinutehandError {
  return notFiledError(new Error("the same request was being filed elsewhere"));
}

/**
 * Stores the home of a job whose once item is written, and sends the job if it is near. If another call of the same request has stored
 * the home before, the job in that home is returned.
 */
async function storeNamed(ctx: Context, home: Home, by: number): Promise<Enqueued> {
  const [outcome] = await ctx.pool.insert([home], by);
  if (outcome instanceof Error) throw notFiledError(outcome);
  if (outcome === "exists") {
    const [found] = await readHomes(ctx, [home.id]);
    if (isUnreadable(found)) throw unreadableError(found);
    // If the times of filing are the same, the answer to our own insert was lost.
    if (found && found.createdAt !== home.createdAt) return sendAgain(ctx, found);
  }
  await sendIfNear(ctx, [home]);
  ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
  return { outcome: "created", home };
}

/**
 * Stores the job of a once item, because the first call, which wrote the item, has not stored the job. The first call may have died, or
 * may still store the job. The job keeps the id and the due time of the first call.
 */
async function storeForRepeat(
  ctx: Context,
  item: OnceItem,
  { once, home: asked }: Repeat,
  by: number,
): Promise<Enqueued> {
  const { id, expiresAt } = item;
  const home = notedHomeOf(ctx, asked, id, { token: once.token, expiresAt });
  const now = ctx.clock();
  // The home may be stored at a time that the audit has read already. So a look makes a later audit read the job.
  if (home.dueAt < now) await fileLooks(ctx, [{ id, time: now }], by);
  const stored = await storeNamed(ctx, home, by);
  await syncPromotions(ctx, [stored.home]);
  return { ...stored, outcome: "replayed" };
}

/**
 * The home that a repeated request asks for, under the id that the item names, and with the note of the item. The id has the due time of
 * the first call.
 */
export function notedHomeOf(ctx: Context, asked: Home, id: string, note: OnceNote): Home {
  const { time: dueAt } = addressOf(id);
  const { hasSchedule: _, ...fields } = asked;
  const home = { ...fields, ...homeKey(id), id, dueAt, wantedAt: dueAt, once: onceText([note]) };
  return isFar(ctx, home.dueAt) ? { ...home, hasSchedule: true } : home;
}

export function notStoredAnyMore(id: string): MinutehandError {
  return new MinutehandError("job-not-found", `job ${id} of this Idempotency-Key is not stored any more`, {
    id,
  });
}

/** Answers a repeat with its job. If the job waits and is near, sends it again: its writer may have died before it sent the message. */
async function sendAgain(ctx: Context, home: Home): Promise<Enqueued> {
  if (home.state === "scheduled") await sendIfNear(ctx, [{ ...home, spare: true }]);
  return { outcome: "replayed", home };
}

/**
 * Answers a repeated request with the job that its once item names. `undefined`: the request must be filed anew, because the
 * item's job may have ended so long ago that its home is deleted.
 */
async function replay(
  ctx: Context,
  { item }: Once,
  repeat: Repeat,
  by: number,
): Promise<Enqueued | undefined> {
  if (item.hash !== repeat.once.hash) throw differentRequest({ id: item.id });
  const [home] = await readHomes(ctx, [item.id]);
  if (isUnreadable(home)) throw unreadableError(home);
  // If the item has no `writtenAt`, the home was stored with the item. Then a missing home means that the job has ended and TTL has
  // deleted the home, so the job is not filed again.
  if (!home && item.writtenAt !== undefined) {
    if (mayHaveEnded(item, ctx.clock())) return undefined;
    if (repeat.job.refusal) throw repeat.job.refusal;
    return storeForRepeat(ctx, item, repeat, by);
  }
  if (!home) throw notStoredAnyMore(item.id);
  return sendAgain(ctx, home);
}
