import { LANDS_WITHIN, WRITER_DEADLINE } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { isNear, startsAt } from "../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type OnceItem, onceKey } from "../core/items.ts";
import { addressOf } from "../core/job-id.ts";
import { onceText } from "../core/once.ts";
import { isUnreadable } from "../core/readable.ts";
import { differentRequest } from "./calls.ts";
import { fileKeyed, type NameOnce } from "./enqueue-keyed.ts";
import { asTheyStand, filePlain, unavailable } from "./enqueue-plain.ts";
import { underLook } from "./looks.ts";
import type { Enqueued, NewJob } from "./new-job.ts";
import { isOnceOver, onceEnd } from "./once-items.ts";
import type { Context, Write } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { sendIfNear } from "./send.ts";
import { cannotRead, readable } from "./unreadable.ts";

/**
 * Files a job that came with an `Idempotency-Key`, and perhaps a key: the once item is written with it, or with
 * the change that a duplicate makes. A repeat of the request answers the same job, as long as that lives and a day longer.
 */
export async function fileOnce(
  ctx: Context,
  job: NewJob,
  once: NonNullable<NewJob["once"]>,
  home: Home,
  by: number,
): Promise<Enqueued> {
  const before = await readOnce(ctx, job.topic, once.token);
  if (before && !before.isOver) return replay(ctx, before, once.hash, home);
  const nameOnce: NameOnce = (named) => {
    const expiresAt = onceEnd(nextProlongedBy(named, ctx.clock()), once.lasts);
    return {
      write: onceWrite(named, once, expiresAt, before?.item),
      note: { token: once.token, expiresAt },
    };
  };
  // Nobody moves an untracked job.
  const noted = home.untracked ? home : { ...home, once: onceText([nameOnce(home).note]) };
  try {
    if (job.key !== undefined) return await fileKeyed(ctx, job, noted, nameOnce, by);
    return await fileWithToken(ctx, noted, nameOnce, by);
  } catch (error) {
    // The same request may have been filed meanwhile, by a repeat of it.
    const theirs = await readOnce(ctx, job.topic, once.token);
    if (theirs && !theirs.isOver) return replay(ctx, theirs, once.hash, home);
    throw error;
  }
}

/**
 * The latest time at which the audit next prolongs the once items of a job. The audit looks at a held job again when the job
 * has waited up to twice as long.
 */
function nextProlongedBy({ dueAt }: Home, now: number): number {
  return dueAt < now ? now + 2 * (now - dueAt) : dueAt;
}

/** A once item as it stands, and whether it answers no more. */
type Once = { item: OnceItem; isOver: boolean };

async function readOnce(ctx: Context, topic: string, token: string): Promise<Once | undefined> {
  const [read] = (await ctx.pool.read([onceKey(topic, token)])) as [OnceItem | undefined];
  const item = readable(read, `the Idempotency-Key of a job of topic ${topic}`);
  if (!item) return undefined;
  if (!isOnceOver(item, undefined, ctx.clock())) return { item, isOver: false };
  const [home] = await readHomes(ctx, [item.id]);
  return { item, isOver: !isUnreadable(home) && isOnceOver(item, home, ctx.clock()) };
}

function onceWrite(
  { id, topic }: Home,
  { token, hash }: NonNullable<NewJob["once"]>,
  expiresAt: number,
  over: OnceItem | undefined,
): Write {
  const key = onceKey(topic, token);
  const says = { id, hash, expiresAt };
  return over
    ? { change: { key, expect: { id: over.id }, set: says } }
    : { insert: { ...key, v: ITEM_VERSION, ...says } };
}

async function fileWithToken(ctx: Context, home: Home, nameOnce: NameOnce, by: number): Promise<Enqueued> {
  if (home.untracked && isNear(home.dueAt, ctx.clock())) {
    // To SQS first: a once item without its job would answer for nothing.
    const [result] = await filePlain(ctx, [home], by);
    if (!result || result instanceof Error) throw result ?? unavailable(new Error("not sent"));
    try {
      await ctx.pool.transact([nameOnce(home).write], by);
    } catch (error) {
      // It is on its way: a refusal now would only bring it twice.
      ctx.report({
        type: "trouble",
        topic: home.topic,
        what: "noting an Idempotency-Key",
        error: messageOf(error),
      });
    }
    return result;
  }
  const outcome = await ctx.pool.transact([{ insert: home }, nameOnce(home).write], by);
  if (!outcome.done && !(await readHomes(ctx, [home.id]))[0]) {
    throw unavailable(new Error("the same request was being filed elsewhere"));
  }
  await sendIfNear(ctx, await asTheyStand(ctx, [home]));
  ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
  return { outcome: "created", home };
}

async function replay(ctx: Context, { item }: Once, hash: string, asked: Home): Promise<Enqueued> {
  if (item.hash !== hash) throw differentRequest({ id: item.id });
  const now = ctx.clock();
  const [home] = await readHomes(ctx, [item.id]);
  if (isUnreadable(home)) throw cannotRead(home);
  if (!home && asked.untracked) {
    // Never stored: the same request and the id say all there is to say.
    return { outcome: "replayed", home: { ...asked, id: item.id, dueAt: addressOf(item.id).time } };
  }
  if (!home) {
    throw new MinutehandError(
      "job-not-found",
      `job ${item.id} of this Idempotency-Key is not stored any more`,
      {
        id: item.id,
      },
    );
  }
  // Its writer may have died before sending.
  const send = () => sendIfNear(ctx, [{ ...home, spare: true }]);
  if (home.state === "scheduled" && !home.untracked) await send();
  if (home.state === "scheduled" && isPerhapsUnsent(home, now))
    await underLook(ctx, home, async () => {
      if (await isFirstRepeat(ctx, home, now)) await send();
    });
  return { outcome: "replayed", home };
}

/**
 * Whether a sweep may have passed the place of a stored untracked job before the job was written. What was not near as it was
 * read, at `now`, the sweep sends, and it may be cancelled by now.
 */
function isPerhapsUnsent(home: Home, now: number): boolean {
  const isOpen = home.untracked === true && home.resentAt === undefined;
  return isOpen && now < home.createdAt + LANDS_WITHIN && isNear(startsAt(home), now);
}

/** Whether no other repeat has sent a job; this one notes that it does. */
async function isFirstRepeat(ctx: Context, home: Home, now: number): Promise<boolean> {
  const expect = { state: "scheduled", resentAt: undefined };
  const change = { key: homeKey(home.id), expect, set: { resentAt: now } };
  const { changed, item } = await ctx.pool.change(change, now + WRITER_DEADLINE);
  // If the answer was lost, the item says so too.
  return changed || (item as Home | undefined)?.resentAt === now;
}
