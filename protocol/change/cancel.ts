import { WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { crashOf } from "../../core/home.ts";
import type { Head, Home } from "../../core/items.ts";
import { isUnreadable, type Unreadable, unreadableError } from "../../core/readable.ts";
import { changeOf } from "../../core/states.ts";
import { inParallel } from "../../general/batches.ts";
import { endAt } from "../policy.ts";
import type { Context, Write } from "../ports.ts";
import { syncPromotions } from "../send/far-ahead.ts";
import { lookAtKeys, releaseKey } from "../store/keys.ts";
import { idOfKey, notFound, readHeads, readHomes } from "../store/read-job.ts";
import { refusalOf, requireUnclaimed } from "./refusals.ts";

const TRIES = 10;
const WIDTH = 16;

/**
 * Cancels a job, and answers it. A repeat answers the same.
 * @throws `job-not-found`, `untracked-topic`, `job-running`, `job-finished`, `unavailable`
 */
export async function cancel(ctx: Context, id: string): Promise<Home> {
  // Most cancelled jobs are tracked, have no key and were never moved, and need no read. The condition names revision 0: if the write
  // lands minutes late, after the job was moved, it is refused.
  const now = ctx.clock();
  // rule: cancel-only-as-filed
  const change = changeOf("cancel", { id, revision: 0 }, endAt(ctx, now), { also: ["untracked", "key"] });
  const changed = await ctx.pool.change(change, now + WRITER_DEADLINE);
  if (changed.changed) {
    const home = await finishCancel(ctx, changed.item as Home);
    await syncPromotions(ctx, [home]);
    return home;
  }
  return cancelAsRead(ctx, id);
}

/** Cancels the job that a caller's own key names. Throws as `cancel`. */
export async function cancelByKey(ctx: Context, topic: string, key: string): Promise<Home> {
  return cancelAsRead(ctx, await idOfKey(ctx, topic, key));
}

/**
 * Cancels many jobs, and answers in the order of `ids`. One job's refusal does not affect the others.
 * @param spares says whether to leave a job, as it was just read, unchanged
 * @param marks by id: the `Home.bulk` of a cancelled job
 */
export async function cancelMany(
  ctx: Context,
  ids: readonly string[],
  spares?: (home: Head) => boolean,
  marks?: ReadonlyMap<string, string>,
): Promise<(Head | MinutehandError)[]> {
  return cancelAll(ctx, ids, { read: readHeads, spares, marks });
}

/** Cancels a waiting job together with other writes. `false`: an item has changed since it was read. Throws as `requireUnclaimed`. */
export async function cancelTogether(ctx: Context, home: Home, together: readonly Write[]): Promise<boolean> {
  const now = ctx.clock();
  const change = cancelOf(ctx, home, now, {}, ["eventAt"]);
  await lookAtKeys(ctx, [home], now);
  const writes = [{ change }, ...together];
  if (!(await ctx.pool.transact(writes, now + WRITER_DEADLINE)).done) return false;
  const cancelled = { ...home, ...change.set };
  await finishCancel(ctx, cancelled);
  await syncPromotions(ctx, [cancelled]);
  return true;
}

async function cancelAsRead(ctx: Context, id: string): Promise<Home> {
  const [result] = await cancelAll(ctx, [id], { read: readHomes });
  if (!result) throw notFound(id);
  if (result instanceof Error) throw result;
  return result;
}

/** How a call cancels jobs. `spares` and `marks`: as those of `cancelMany`. */
type How<H extends Head> = {
  /** Reads the jobs, with their bodies or without. */
  readonly read: (ctx: Context, ids: readonly string[]) => Promise<(H | Unreadable | undefined)[]>;
  readonly spares?: ((home: Head) => boolean) | undefined;
  readonly marks?: ReadonlyMap<string, string> | undefined;
};

async function cancelAll<H extends Head>(
  ctx: Context,
  ids: readonly string[],
  how: How<H>,
): Promise<(H | MinutehandError)[]> {
  const results = new Map<string, H | MinutehandError>();
  let left = [...new Set(ids)];
  for (let i = 0; i < TRIES && left.length > 0; i++) left = await tryToCancel(ctx, left, results, how, i > 0);
  await syncPromotions(
    ctx,
    [...results.values()].flatMap((result) =>
      result instanceof Error || result.state !== "cancelled" ? [] : result,
    ),
  );
  return ids.map((id) => results.get(id) ?? keepsChanging(id));
}

/**
 * Tries once to cancel jobs, and sets the `results`. Answers the ids for the next try: somebody has changed these jobs since they were read.
 * `isRepeated`: an earlier try may have cancelled some of the jobs, and its answer was lost.
 */
async function tryToCancel<H extends Head>(
  ctx: Context,
  ids: readonly string[],
  results: Map<string, H | MinutehandError>,
  { read, spares = () => false, marks }: How<H>,
  isRepeated: boolean,
): Promise<string[]> {
  const homes = await read(ctx, ids);
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;

  const waiting: H[] = [];
  const own: H[] = [];
  for (const [i, id] of ids.entries()) {
    const home = homes[i];
    if (isUnreadable(home)) {
      results.set(id, unreadableError(home));
      continue;
    }
    if (!home) results.set(id, notFound(id));
    else if (home.state === "cancelled" && isRepeated) own.push(home);
    else if (home.state === "cancelled") results.set(id, home);
    else {
      const refusal = refusalOf(home, now);
      if (refusal) results.set(id, refusal);
      else if (spares(home)) results.set(id, home);
      else waiting.push(home);
    }
  }
  const changes = waiting.map((home) => {
    const bulk = marks?.get(home.id);
    return cancelOf(ctx, home, now, bulk === undefined ? {} : { bulk });
  });
  await lookAtKeys(ctx, waiting, now);
  const outcomes = await ctx.pool.changeMany(changes, by);
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
    results.set(home.id, await finishCancel(ctx, home));
  });
  return left;
}

/** Makes the write that cancels a job. If the job's run has crashed, its `lastError` says so. Throws as `requireUnclaimed`. */
function cancelOf(
  ctx: Context,
  home: Head,
  now: number,
  marks: Pick<Home, "bulk">,
  also: readonly (keyof Home)[] = [],
) {
  const set = { ...endAt(ctx, now), ...marks };
  requireUnclaimed(home, now);
  return home.state === "running"
    ? changeOf("cancelCrashed", home, { ...set, lastError: crashOf(home) }, { also })
    : changeOf("cancel", home, set, { also });
}

async function finishCancel<H extends Head>(ctx: Context, home: H): Promise<H> {
  await releaseKey(ctx, home, home.expiresAt ?? 0, ctx.clock() + WRITER_DEADLINE);
  ctx.report({ type: "cancelled", topic: home.topic, id: home.id });
  return home;
}

function keepsChanging(id: string): MinutehandError {
  return new MinutehandError("unavailable", `other calls keep changing job ${id}; repeat the call`, { id });
}
