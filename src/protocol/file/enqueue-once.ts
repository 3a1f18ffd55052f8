import { MinutehandError, notFiledError } from "../../core/errors.ts";
import type { Home } from "../../core/home.ts";
import { onceKey } from "../../core/item-keys.ts";
import { ITEM_VERSION, type OnceItem, type SharedOnceItem } from "../../core/items.ts";
import { onceText } from "../../core/once.ts";
import { isUnreadable, requireReadable, unreadableError } from "../../core/readable.ts";
import { differentRequest } from "../change/calls.ts";
import type { Enqueued, NewJob, TimedJob } from "../new-job.ts";
import type { Context, Write } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import { isOnceOver, onceItemTtl } from "../store/once-items.ts";
import { readHomes } from "../store/read-job.ts";
import { sharedJobs } from "../store/shared-once-item.ts";
import { fileKeyed, type OnceNaming, sendAndReport } from "./enqueue-keyed.ts";

/** In one transaction with the once item, which answers repeats until a day after the job's end. `displaced`: another call came first. */
export async function fileOnce(
  ctx: Context,
  job: TimedJob,
  once: NonNullable<NewJob["once"]>,
  home: Home,
  by: number,
): Promise<Enqueued | "displaced"> {
  const before = await readOnce(ctx, job.topic, once.token);
  // rule: once-item-outlives-its-job
  if (before && !before.isOver) return replay(ctx, before.item, once);
  // A repeat is answered all the same: the settings may have changed since the first call.
  if (job.refusal) throw job.refusal;
  const name = namingOf(ctx, job.topic, once, before?.item);
  const noted = { ...home, once: onceText([name(home).note]) };
  try {
    if (job.key !== undefined) return await fileKeyed(ctx, job, noted, name, by);
    // rule: once-item-with-its-home
    const { done } = await ctx.pool.transact([{ insert: noted }, name(noted).write], by);
    if (!done) return "displaced";
  } catch (error) {
    const found = await readOnce(ctx, job.topic, once.token);
    if (found && !found.isOver) return replay(ctx, found.item, once);
    throw error;
  }
  return sendAndReport(ctx, noted);
}

/** By when the audit will have prolonged a job's once items: ms since the epoch. It reads a held job again within twice its lateness. */
export function nextProlongedBy({ dueAt }: Home, now: number): number {
  return dueAt < now ? now + 2 * (now - dueAt) : dueAt;
}

/** `isOver`: the item answers no repeat any more, so its `Idempotency-Key` is free. */
type Once = { item: OnceItem; isOver: boolean };

async function readOnce(ctx: Context, topic: string, token: string): Promise<Once | undefined> {
  const [read] = (await ctx.pool.read([onceKey(topic, token)])) as [OnceItem | SharedOnceItem | undefined];
  const item = requireReadable(read, `the Idempotency-Key of a job of topic ${topic}`);
  if (!item) return undefined;
  // A call for a job without a key came with this `Idempotency-Key`.
  if ("seed" in item) throw differentRequest({ id: sharedJobs(item)[0]?.id });
  if (!isOnceOver(item, undefined, ctx.clock())) return { item, isOver: false };
  const [home] = await readHomes(ctx, [item.id]);
  return { item, isOver: !isUnreadable(home) && isOnceOver(item, home, ctx.clock()) };
}

/** `before`: the item as it was read. It answers no repeat any more. */
function namingOf(
  ctx: Context,
  topic: string,
  once: NonNullable<NewJob["once"]>,
  before: OnceItem | undefined,
): OnceNaming {
  const key = onceKey(topic, once.token);
  return (home) => {
    const expiresAt = onceItemTtl(nextProlongedBy(home, ctx.clock()), once.lasts);
    const says = { id: home.id, hash: once.hash, expiresAt };
    const write: Write = before
      ? { change: { key, expect: { id: before.id }, set: says } }
      : { insert: { ...key, v: ITEM_VERSION, ...says } };
    return { write, note: { token: once.token, expiresAt } };
  };
}

export function filedElsewhere(): MinutehandError {
  return notFiledError(new Error("the same request was being filed elsewhere"));
}

export function notStoredAnyMore(id: string): MinutehandError {
  return new MinutehandError("job-not-found", `job ${id} of this Idempotency-Key is not stored any more`, {
    id,
  });
}

/** Answers a repeat with the job that its item names, and does the call's last step again. */
async function replay(
  ctx: Context,
  { id, hash }: OnceItem,
  once: NonNullable<NewJob["once"]>,
): Promise<Enqueued> {
  if (hash !== once.hash) throw differentRequest({ id });
  const [home] = await readHomes(ctx, [id]);
  if (isUnreadable(home)) throw unreadableError(home);
  if (!home) throw notStoredAnyMore(id);
  if (home.state === "scheduled") await sendIfNear(ctx, [{ ...home, spare: true }]);
  return { outcome: "replayed", home };
}
