import { isDeepStrictEqual } from "node:util";
import { BOOKED_FOR, WRITER_DEADLINE } from "../../core/constants.ts";
import { startsAt } from "../../core/home.ts";
import { type Home, homeKey } from "../../core/items.ts";
import { isUnreadable, readHome } from "../../core/readable.ts";
import { logAfter, type RunEnd } from "../../core/timeline.ts";
import type { Attribute, Change, Changed, Context, Expected, Write } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import { fileLooks } from "../store/looks.ts";
import { prolongOnce } from "../store/once-items.ts";

export type Move = {
  /** ms since the epoch; a time in the past becomes now, since a look filed there might lie behind the audit. */
  dueAt: number;
  /** Keeps a hold that is not over, and then `dueAt` as it is though it has passed. */
  hold?: Pick<Home, "heldFrom" | "heldUntil">;
  /**
   * Keeps the due time of a job that is overdue, and a start of the limit that was given, also one that has come just now: the job
   * keeps its turn among others. Were it due anew at each call, callers whose clocks are ahead would put the job off for ever.
   */
  keepsTurn?: boolean;
  /** Beside the revision, what makes sure that nobody runs the job. */
  expect: Expected;
  set?: Readonly<Record<string, Attribute>>;
  remove?: readonly string[];
  /** Writes that must happen with the home's update or not at all. */
  together?: readonly Write[];
  /** How the run in hand ended; one of which nobody says it has crashed. */
  end?: RunEnd;
  why: string;
  /** ms that its writes may take together; absent: `WRITER_DEADLINE`. */
  patience?: number;
};

/** `together`: of each such write, in their order, whether it was refused. */
export type Moved =
  | { moved: true; home: Home }
  | { moved: false; home: Home | undefined; together?: readonly boolean[] | undefined };

/** Of the last claim, or the last hold. */
// rule: move-clears-the-last-run
const OVER = [
  "token",
  "leaseEnd",
  "sentAt",
  "cancelAskedAt",
  "finishedAt",
  "expiresAt",
  "heldFrom",
  "heldUntil",
  "pausedMs",
];

/**
 * Changes the time of a waiting, failed or dead job. The look stands before the home says the new time, and
 * the clock is looked at after: a crash between any two steps leaves at worst a look that only looks.
 */
export async function move(ctx: Context, home: Home, request: Move): Promise<Moved> {
  const now = ctx.clock();
  const by = now + (request.patience ?? WRITER_DEADLINE);
  const { keepsTurn = false } = request;
  const { heldFrom, heldUntil } = keepsTurn ? home : (request.hold ?? {});
  const hold = heldFrom !== undefined &&
    heldUntil !== undefined &&
    heldUntil > (keepsTurn ? now - BOOKED_FOR : now) && { heldFrom, heldUntil };
  // rule: no-move-into-the-past
  const dueAt = movedDueAt(home, request, hold !== false, now);
  // A look behind the audit would be none.
  const start = hold ? startsAt({ dueAt, ...hold }) : Math.max(dueAt, now);
  // rule: look-before-home
  await fileLooks(ctx, [{ id: home.id, time: start }], by);

  // Stored longer before the job lives longer: TTL would take an item in between.
  const once = await prolongOnce(ctx, { ...home, ...request.set }, start, by);
  const set = { ...request.set, ...once, ...hold, state: "scheduled", dueAt, revision: home.revision + 1 };
  const change = {
    key: homeKey(home.id),
    // rule: move-only-what-was-read
    // A call that keeps the job adds its once item without a new revision.
    expect: { ...request.expect, revision: home.revision, once: home.once },
    set: { ...set, log: logAfter(home, now, dueAt, request.end) },
    remove: [...OVER, ...(request.remove ?? [])].filter((name) => !Object.hasOwn(set, name)),
  };
  const changed: Changed & { together?: readonly boolean[] } = request.together
    ? await changeTogether(ctx, home, change, request.together, by)
    : await ctx.pool.change(change, by);
  const item = changed.item && readHome(changed.item, home.id);
  const found = isUnreadable(item) ? undefined : item;
  // A repeat after a lost answer finds its own work; another's that looks the same, whatever its log, serves as well.
  if (!found || !(changed.changed || isAsSet(found, set)))
    return { moved: false, home: found, together: changed.together };

  ctx.report({ type: "moved", topic: home.topic, id: home.id, dueAt, why: request.why });
  // rule: near-job-sent-after-move
  await sendIfNear(ctx, [found]);
  return { moved: true, home: found };
}

/** The due time of a moved job. */
function movedDueAt(home: Home, { dueAt, keepsTurn = false }: Move, isHeld: boolean, now: number): number {
  if (!keepsTurn) return isHeld ? dueAt : Math.max(dueAt, now);
  // `dueAt` is the bound here, which has passed. An overdue job keeps its due time, but none before the bound.
  return home.state === "scheduled" ? Math.min(Math.max(home.dueAt, dueAt), now) : now;
}

export function isAsSet(item: object, set: object): boolean {
  const values = item as Record<string, unknown>;
  return Object.entries(set).every(([name, value]) => isDeepStrictEqual(values[name], value));
}

/** A transaction answers no item: at the revision as read the home became what it was and what was set. */
async function changeTogether(
  ctx: Context,
  home: Home,
  change: Change,
  together: readonly Write[],
  by: number,
): Promise<Changed & { together?: readonly boolean[] }> {
  const outcome = await ctx.pool.transact([{ change }, ...together], by);
  if (!outcome.done) {
    const [found, ...others] = outcome.refused;
    // Where another write was refused, the home is as it was read.
    const item = found === false ? home : found;
    return { changed: false, item, together: others.map((refused) => refused !== false) };
  }
  const removed = new Set(change.remove);
  const kept = Object.entries(home).filter(([name]) => !removed.has(name));
  return { changed: true, item: { ...Object.fromEntries(kept), ...change.set } as Home };
}
