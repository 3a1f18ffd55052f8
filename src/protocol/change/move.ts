import { isDeepStrictEqual } from "node:util";
import type { Actor } from "../../core/actor.ts";
import { BOOKED_FOR, WRITER_DEADLINE } from "../../core/constants.ts";
import { type Home, startsAt, wantedOf } from "../../core/home.ts";
import { isUnreadable, readHome } from "../../core/readable.ts";
import { changeOf, type Sets } from "../../core/states.ts";
import { logAfter, type RunEnd } from "../../core/timeline.ts";
import type { Change, Changed, Context, Write } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import { fileLooks } from "../store/looks.ts";
import { prolongOnce } from "../store/once-items.ts";

type MoveName = "move" | "moveCrashed" | "retry" | "redrive";
/** A change of `src/core/states.ts`, and what it sets besides what each move sets. */
type Moving = {
  [N in MoveName]: { change: N; set: Omit<Sets<N>, "dueAt" | "revision" | "log" | "wantedAt"> };
}[MoveName];

export type Move = Moving & {
  /** ms since the epoch. A time in the past becomes now. */
  dueAt: number;
  /** Set if somebody asks for a time. `wantedAt`: that time, if it can pass before the job is moved: ms since the epoch. */
  asked?: { readonly wantedAt?: number | undefined };
  /** The hold that the job keeps, if the hold is not over. `dueAt` is then kept as well, even in the past. */
  hold?: Pick<Home, "heldUntil">;
  /** An overdue job keeps its due time, and its start: otherwise callers whose clocks are ahead could postpone the job for ever. */
  keepsTurn?: boolean;
  /** Further attributes that must be as they were read. */
  also?: readonly (keyof Home)[];
  remove?: readonly string[];
  together?: readonly Write[];
  /** How the current run ended. Absent: the job has no run, or its run has crashed. */
  end?: RunEnd;
  why: string;
  /** For all writes of the move together: ms. Absent: `WRITER_DEADLINE`. */
  patience?: number;
};

export type Moved =
  | { moved: true; home: Home }
  | {
      moved: false;
      /** The home as it is now. `undefined` if there is none, or if it is unreadable. */
      home: Home | undefined;
      /** For each write of `Move.together`, in their order: whether it was refused. */
      together?: readonly boolean[] | undefined;
    };

/** Changes the time of a waiting, failed or dead job. The look comes before the home: a crash leaves at worst a look that finds nothing. */
export async function move(ctx: Context, home: Home, request: Move): Promise<Moved> {
  const now = ctx.clock();
  const by = now + (request.patience ?? WRITER_DEADLINE);
  const { dueAt, start, hold } = timesOf(home, request, now);
  const looks = [{ id: home.id, time: start }];
  // Lists and bulks find a job by an entry at its due time. No sweep reads that entry any more.
  if (dueAt !== start && dueAt !== home.dueAt) looks.push({ id: home.id, time: dueAt });
  // rule: look-before-home
  await fileLooks(ctx, looks, by);

  // A job that keeps its turn has an earlier `dueAt`, but it expires by the time that was asked for now.
  const wanted = request.asked && wantedOf(request.asked, Math.max(request.dueAt, now));
  const asked = { ...request.set, ...wanted };
  // Before the job gets its later time, so that TTL deletes none in between.
  const once = await prolongOnce(ctx, { ...home, ...asked }, start, by);
  const log = logAfter(home, now, { dueAt, ...moverOf(ctx, request) }, request.end);
  const moved = { dueAt, revision: home.revision + 1, log };
  const set = { ...asked, ...once, ...hold, ...moved } as Sets<MoveName>;
  const change = changeOf(request.change, home, set, request);
  const changed: Changed & { together?: readonly boolean[] } = request.together
    ? await changeTogether(ctx, home, change, request.together, by)
    : await ctx.pool.change(change, by);
  const item = changed.item && readHome(changed.item, home.id);
  const found = isUnreadable(item) ? undefined : item;
  // A repeat after a lost answer finds its own effect. If another call has set the same values, only the log may differ.
  const { log: _, ...others } = change.set;
  if (!found || !(changed.changed || hasAttributes(found, others)))
    return { moved: false, home: found, together: changed.together };

  const { topic, id, attempt } = home;
  // Readers of the log see the failed attempt before the move that it caused.
  if (request.end?.what === "failed") {
    const { error, isThrottled } = request.end;
    ctx.report({ type: "failed", topic, id, attempt, error, ...(isThrottled && { isThrottled }) });
  }
  ctx.report({ type: "moved", topic, id, dueAt, why: request.why });
  // rule: near-job-sent-after-move
  await sendIfNear(ctx, [found]);
  return { moved: true, home: found };
}

/** A retry is nobody's move, also if a caller's process settles the crashed run. */
function moverOf(ctx: Context, { change }: Move): { what: "retried" | "moved"; by?: Actor | undefined } {
  // rule: move-names-its-caller
  return change === "retry" ? { what: "retried" } : { what: "moved", by: ctx.by?.() };
}

/** When a job is due and may start after a move: ms since the epoch. `hold`: the start that its home keeps, if any. */
function timesOf(
  home: Home,
  request: Move,
  now: number,
): { dueAt: number; start: number; hold: Pick<Home, "heldUntil"> } {
  const { keepsTurn = false } = request;
  const { heldUntil } = keepsTurn ? home : (request.hold ?? {});
  const isAhead = heldUntil !== undefined && heldUntil > (keepsTurn ? now - BOOKED_FOR : now);
  // A job that keeps its turn also keeps a start that has passed, because its lateness counts from that start.
  const isHeld = heldUntil !== undefined && (keepsTurn || isAhead);
  // rule: no-move-into-the-past
  const dueAt = movedDueAt(home, request, isHeld, now);
  // Not in the past: neither a sweep nor an audit would find a look behind the audit's cursor.
  const start = isAhead ? startsAt({ dueAt, heldUntil }) : Math.max(dueAt, now);
  return { dueAt, start, hold: isHeld ? { heldUntil } : {} };
}

function movedDueAt(home: Home, { dueAt, keepsTurn = false }: Move, isHeld: boolean, now: number): number {
  if (!keepsTurn) return isHeld ? dueAt : Math.max(dueAt, now);
  // With `keepsTurn`, `dueAt` is the bound, which has passed. An overdue job keeps its due time, if that is not before the bound.
  return home.state === "scheduled" ? Math.min(Math.max(home.dueAt, dueAt), now) : now;
}

export function hasAttributes(item: object, set: object): boolean {
  const values = item as Record<string, unknown>;
  return Object.entries(set).every(([name, value]) => isDeepStrictEqual(values[name], value));
}

/** Changes a home in a transaction, which does not answer the item. The condition names the revision, so the rest is as it was read. */
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
    // If only other writes were refused, the home is as it was read.
    const item = found === false ? home : found;
    return { changed: false, item, together: others.map((refused) => refused !== false) };
  }
  const removed = new Set(change.remove);
  const kept = Object.entries(home).filter(([name]) => !removed.has(name));
  return { changed: true, item: { ...Object.fromEntries(kept), ...change.set } as Home };
}
