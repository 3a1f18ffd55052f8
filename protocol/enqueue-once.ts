import { ONCE_AFTER } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { isNear } from "../core/home.ts";
import { type Home, ITEM_VERSION, type OnceItem, onceKey, ttl } from "../core/items.ts";
import { addressOf } from "../core/job-id.ts";
import { fileKeyed, type NameOnce } from "./enqueue-keyed.ts";
import { filePlain, unavailable } from "./enqueue-plain.ts";
import type { Enqueued, NewJob } from "./new-job.ts";
import type { Context, Write } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { sendIfNear } from "./send.ts";

/**
 * Files a job that came with an `Idempotency-Key`, and perhaps a key: the once item is written with it, or with
 * the change that a duplicate makes. A repeat of the request answers the same job.
 */
export async function fileOnce(
  ctx: Context,
  job: NewJob,
  once: NonNullable<NewJob["once"]>,
  home: Home,
  by: number,
): Promise<Enqueued> {
  const stored = await readOnce(ctx, job.topic, once.token);
  if (stored && !isOver(stored, ctx.clock())) return replay(ctx, stored, once.hash, home);
  const nameOnce = (named: Home): Write => onceWrite(named, once, stored, ctx.clock());
  try {
    if (job.key !== undefined) return await fileKeyed(ctx, job, home, nameOnce, by);
    return await fileWithToken(ctx, home, nameOnce, by);
  } catch (error) {
    // The same request may have been filed meanwhile, by a repeat of it.
    const theirs = await readOnce(ctx, job.topic, once.token);
    if (theirs && !isOver(theirs, ctx.clock())) return replay(ctx, theirs, once.hash, home);
    throw error;
  }
}

async function readOnce(ctx: Context, topic: string, token: string): Promise<OnceItem | undefined> {
  const [stored] = await ctx.pool.read([onceKey(topic, token)]);
  return stored as OnceItem | undefined;
}

/** TTL deletes days late: an item past its time is as good as gone. */
function isOver(once: OnceItem, now: number): boolean {
  return once.expiresAt * 1000 <= now;
}

function onceWrite(
  home: Home,
  { token, hash, lasts = ONCE_AFTER }: NonNullable<NewJob["once"]>,
  over: OnceItem | undefined,
  now: number,
): Write {
  const key = onceKey(home.topic, token);
  const says = { id: home.id, hash, expiresAt: ttl(Math.max(home.dueAt, now) + lasts) };
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
      await ctx.pool.transact([nameOnce(home)], by);
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
  const outcome = await ctx.pool.transact([{ insert: home }, nameOnce(home)], by);
  if (!outcome.done && !(await readHomes(ctx, [home.id]))[0]) {
    throw unavailable(new Error("the same request was being filed elsewhere"));
  }
  await sendIfNear(ctx, [home]);
  ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
  return { outcome: "created", home };
}

async function replay(ctx: Context, stored: OnceItem, hash: string, asked: Home): Promise<Enqueued> {
  if (stored.hash !== hash) {
    throw new MinutehandError(
      "idempotency-mismatch",
      "an Idempotency-Key names one request: it was used with a different one",
      { id: stored.id },
    );
  }
  const [home] = await readHomes(ctx, [stored.id]);
  if (!home && asked.untracked) {
    // Never stored: the same request and the id say all there is to say.
    return { outcome: "replayed", home: { ...asked, id: stored.id, dueAt: addressOf(stored.id).time } };
  }
  if (!home) {
    throw new MinutehandError(
      "job-not-found",
      `job ${stored.id} of this Idempotency-Key is not stored any more`,
      {
        id: stored.id,
      },
    );
  }
  // Its writer may have died before sending.
  if (home.state === "scheduled" && !home.untracked) await sendIfNear(ctx, [home]);
  return { outcome: "replayed", home };
}
