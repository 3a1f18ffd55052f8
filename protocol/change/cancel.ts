import {
  EVENT_AFTER,
  LANDS_WITHIN,
  ONCE_SLACK,
  UNTRACKED_AFTER,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { crashOf, isNear, startsAt } from "../../core/home.ts";
import { type Head, type Home, homeKey, ttl } from "../../core/items.ts";
import { isUnreadable, readHome, type Unreadable } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import type { Change, Context, Write } from "../ports.ts";
import { keepPromotions } from "../send/far-ahead.ts";
import { sendIfNear } from "../send/send.ts";
import { lookAtKeys, releaseKey } from "../store/keys.ts";
import { underLook } from "../store/looks.ts";
import { idOfKey, notFound, readHeads, readHomes } from "../store/read-job.ts";
import { cannotRead } from "../store/unreadable.ts";
import { expectUnclaimed, handedOff, refusalOf } from "./refusals.ts";

const TRIES = 10;
const WIDTH = 16;

/**
 * Cancels a job, and answers the cancelled job. Idempotent: cancelling a cancelled job answers the same. Throws `job-not-found`, `job-running`,
 * `job-finished`, `job-handed-off`, `unavailable`.
 */
export async function cancel(ctx: Context, id: string): Promise<Home> {
  // Most jobs that are cancelled wait as they were filed, are tracked and have no key: those take one call and no read.
  // A request that is minutes late finds a later revision of a job that was moved meanwhile, and leaves it alone.
  const now = ctx.clock();
  const change = {
    key: homeKey(id),
    // rule: cancel-only-as-filed
    expect: { state: "scheduled", revision: 0, untracked: undefined, key: undefined },
    set: asCancelled(ctx, now),
  };
  const changed = await ctx.pool.change(change, now + WRITER_DEADLINE);
  if (changed.changed) {
    const home = await ended(ctx, changed.item as Home);
    await keepPromotions(ctx, [home]);
    return home;
  }
  return cancelAsRead(ctx, id);
}

/** Cancels the job that a caller's own key names. Throws as `cancel`. */
export async function cancelByKey(ctx: Context, topic: string, key: string): Promise<Home> {
  return cancelAsRead(ctx, await idOfKey(ctx, topic, key));
}

async function cancelAsRead(ctx: Context, id: string): Promise<Home> {
  const [result] = await cancelAll(ctx, [id], readHomes);
  if (!result) throw notFound(id);
  if (result instanceof Error) throw result;
  return result;
}

/**
 * Cancels many jobs, each on its own, and answers in their order. An id named twice is cancelled once. What `spares` says of
 * a job as it stands is left as it is. `marks`: what a home is to say of the bulk that cancels it, by id.
 */
export async function cancelMany(
  ctx: Context,
  ids: readonly string[],
  spares?: (home: Head) => boolean,
  marks?: ReadonlyMap<string, string>,
): Promise<(Head | MinutehandError)[]> {
  return cancelAll(ctx, ids, readHeads, spares, marks);
}

/** How jobs are read: with their bodies or without. */
type Read<H extends Head> = (ctx: Context, ids: readonly string[]) => Promise<(H | Unreadable | undefined)[]>;

async function cancelAll<H extends Head>(
  ctx: Context,
  ids: readonly string[],
  read: Read<H>,
  spares: (home: Head) => boolean = () => false,
  marks: ReadonlyMap<string, string> = new Map(),
): Promise<(H | MinutehandError)[]> {
  const results = new Map<string, H | MinutehandError>();
  let left = [...new Set(ids)];
  for (let i = 0; i < TRIES && left.length > 0; i++)
    left = await pass(ctx, left, results, { read, spares, marks, again: i > 0 });
  await keepPromotions(
    ctx,
    [...results.values()].flatMap((result) =>
      result instanceof Error || result.state !== "cancelled" ? [] : result,
    ),
  );
  return ids.map((id) => results.get(id) ?? keepsChanging(id));
}

/** Cancels a job that waits, with writes that must happen too or not at all; `false`: something is not as it was read. */
export async function cancelTogether(ctx: Context, home: Home, together: readonly Write[]): Promise<boolean> {
  const now = ctx.clock();
  const set = readAsCancelled(ctx, home, now);
  const expect = { ...expectUnclaimed(home, now), revision: home.revision, keptAt: home.keptAt };
  await lookAtKeys(ctx, [home], now);
  const writes = [{ change: { key: homeKey(home.id), expect, set } }, ...together];
  if (!(await ctx.pool.transact(writes, now + WRITER_DEADLINE)).done) return false;
  await cancelled(ctx, { ...home, ...set }, ctx.clock());
  await keepPromotions(ctx, [{ ...home, ...set }]);
  return true;
}

/** Answers the ids that were not as read. `again`: a pass before this one may have cancelled them, its answer lost. */
async function pass<H extends Head>(
  ctx: Context,
  ids: readonly string[],
  results: Map<string, H | MinutehandError>,
  {
    read,
    spares,
    marks,
    again,
  }: {
    read: Read<H>;
    spares: (home: Head) => boolean;
    marks: ReadonlyMap<string, string>;
    again: boolean;
  },
): Promise<string[]> {
  const homes = await read(ctx, ids);
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;

  const waiting: H[] = [];
  const own: H[] = [];
  const doubtful: H[] = [];
  for (const [i, id] of ids.entries()) {
    const home = homes[i];
    if (isUnreadable(home)) {
      results.set(id, cannotRead(home));
      continue;
    }
    const answer = home ? answerWithoutWriting(home, now) : notFound(id);
    if (home?.state === "cancelled" && again) own.push(home);
    else if (home?.state === "cancelled" && isDoubtful(home)) doubtful.push(home);
    else if (answer) results.set(id, answer);
    else if (home && spares(home)) results.set(id, home);
    else if (home) waiting.push(home);
  }
  const changes = waiting.map((home) => {
    const bulk = marks.get(home.id);
    return {
      key: homeKey(home.id),
      expect: { ...expectUnclaimed(home, now), revision: home.revision },
      set: { ...readAsCancelled(ctx, home, now), ...(bulk === undefined ? {} : { bulk }) },
    };
  });
  await lookAtKeys(ctx, waiting, now);
  const outcomes = await ctx.pool.changeMany(changes, by);
  const writtenBy = ctx.clock();
  const left: string[] = [];
  for (const [i, home] of waiting.entries()) {
    const outcome = outcomes[i];
    if (outcome === "changed") own.push({ ...home, ...changes[i]?.set });
    else if (outcome === "refused") left.push(home.id);
    else
      results.set(
        home.id,
        new MinutehandError("unavailable", outcome?.message ?? "no answer", { id: home.id }),
      );
  }
  await inParallel(own, WIDTH, async (home) => {
    results.set(home.id, await cancelled(ctx, home, writtenBy));
  });
  await inParallel(doubtful, WIDTH, async (home) => {
    results.set(home.id, await cancelledByOther(ctx, home, now));
  });
  return left;
}

/** What a home says that was cancelled at `now`. */
export function asCancelled(
  ctx: Context,
  now: number,
): { state: "cancelled"; finishedAt: number; expiresAt: number } {
  return { state: "cancelled", finishedAt: now, expiresAt: ttl(now + ctx.policy.retention * 1000) };
}

/**
 * The same of one as it was read: whose run has crashed says so. An untracked job that was held stays for as long as its once item
 * may call it `unsent`: where no home is found, a repeat of its request files the job again.
 */
function readAsCancelled(
  ctx: Context,
  home: Head,
  now: number,
): ReturnType<typeof asCancelled> & { lastError?: string } {
  const cancelled = asCancelled(ctx, now);
  const least =
    home.untracked && home.heldUntil !== undefined ? ttl(home.dueAt + EVENT_AFTER + ONCE_SLACK) : 0;
  const expiresAt = Math.max(cancelled.expiresAt, least);
  return { ...cancelled, expiresAt, ...(home.state === "running" ? { lastError: crashOf(home) } : {}) };
}

function answerWithoutWriting<H extends Head>(home: H, now: number): H | MinutehandError | undefined {
  return home.state === "cancelled" ? home : refusalOf(home, now);
}

/** The answer to a cancel that this call has written. `seenAt`: when the write was seen to be done. */
async function cancelled<H extends Head>(
  ctx: Context,
  home: H,
  seenAt: number,
): Promise<H | MinutehandError> {
  if (!isDoubtful(home)) return ended(ctx, home);
  const tooLate = handedOff(home, seenAt);
  if (tooLate) return undo(ctx, home, tooLate);
  return (await noteInTime(ctx, home, seenAt)) ?? ended(ctx, home);
}

/**
 * The answer to a cancel that another call has written, where the home does not say yet whether the cancel came in time. One
 * that may have come too late stays as it is: the other call undoes it unless that call has died, and an hour later nobody
 * expects the job to run.
 */
async function cancelledByOther<H extends Head>(
  ctx: Context,
  home: H,
  seenAt: number,
): Promise<H | MinutehandError> {
  return handedOff(home, seenAt) ?? (await noteInTime(ctx, home, seenAt)) ?? ended(ctx, home);
}

async function ended<H extends Head>(ctx: Context, home: H): Promise<H> {
  await releaseKey(ctx, home, home.expiresAt ?? 0, ctx.clock() + WRITER_DEADLINE);
  ctx.report({ type: "cancelled", topic: home.topic, id: home.id });
  return home;
}

/** Whether a sweep may have sent an untracked job before its cancel took effect: a write lands minutes late at worst. */
export function isDoubtful(home: Head): boolean {
  const landedBy = (home.finishedAt ?? 0) + LANDS_WITHIN;
  return home.untracked === true && home.inTimeAt === undefined && isNear(startsAt(home), landedBy);
}

/** Lets a cancel say that it came in time, so that it stands for whoever repeats it. Answers why it does not, if so. */
async function noteInTime(ctx: Context, home: Head, seenAt: number): Promise<MinutehandError | undefined> {
  try {
    return await settleDoubt(ctx, home, { set: { inTimeAt: seenAt } }, keepsChanging(home.id));
  } catch (error) {
    return unknown(home.id, error);
  }
}

/**
 * Undoes a cancel that came too late, and sends the job: a sweep that saw the cancel has passed it over, and a caller who
 * was refused may count on it. It may so come twice, as an untracked job may. Answers the refusal, or that the cancel stands.
 */
async function undo<H extends Head>(
  ctx: Context,
  home: H,
  tooLate: MinutehandError,
): Promise<H | MinutehandError> {
  const set = { state: "scheduled", expiresAt: ttl(startsAt(home) + UNTRACKED_AFTER) };
  try {
    const refusal = await underLook(ctx, home, () =>
      settleDoubt(ctx, home, { set, remove: ["finishedAt"] }, tooLate),
    );
    return refusal ?? ended(ctx, home);
  } catch (error) {
    return unknown(home.id, error);
  }
}

/** Changes a home whose cancel is in doubt. Answers `otherwise` unless the cancel stands after that, whoever said so. */
async function settleDoubt(
  ctx: Context,
  home: Head,
  change: Pick<Change, "set" | "remove">,
  otherwise: MinutehandError,
): Promise<MinutehandError | undefined> {
  const found = {
    key: homeKey(home.id),
    expect: { state: "cancelled", finishedAt: home.finishedAt, inTimeAt: undefined },
  };
  const { item } = await ctx.pool.change({ ...found, ...change }, ctx.clock() + WRITER_DEADLINE);
  // If the answer to the change was lost, or somebody was faster, the item says so too.
  const stored = item && readHome(item, home.id);
  if (stored?.state === "cancelled" && !isDoubtful(stored)) return undefined;
  // As what it is again: a limit or a window has a say.
  if (stored?.state === "scheduled") await sendIfNear(ctx, [stored]);
  return otherwise;
}

function unknown(id: string, cause: unknown): MinutehandError {
  return new MinutehandError("unavailable", messageOf(cause), { id }, cause);
}

function keepsChanging(id: string): MinutehandError {
  return new MinutehandError("unavailable", `other calls keep changing job ${id}; repeat the call`, { id });
}
