import { changedMeanwhile, type IfMatch, isAsSeen } from "../../core/as-seen.ts";
import { WRITER_DEADLINE } from "../../core/constants.ts";
import { keepsChanging, MinutehandError } from "../../core/errors.ts";
import { crashOf, type Head, type Home } from "../../core/home.ts";
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
 * Cancels a job. Can be repeated: a cancelled job is answered, whatever `ifMatch` says. @throws `job-not-found`, `untracked-topic`, `job-running`,
 * `job-finished`, `changed-meanwhile`, `unavailable`
 */
export async function cancel(ctx: Context, id: string, ifMatch?: IfMatch): Promise<Home> {
  if (!isAsSeen({ id, revision: 0 }, ifMatch)) return cancelAsRead(ctx, id, ifMatch);
  // Most jobs need no read. The condition names revision 0: if the write lands minutes late, after a move of the job, it is refused.
  const now = ctx.clock();
  // rule: cancel-only-as-filed
  const change = changeOf("cancel", { id, revision: 0 }, endAs(ctx, now), { also: ["untracked", "key"] });
  const changed = await ctx.pool.change(change, now + WRITER_DEADLINE);
  if (changed.changed) {
    const home = await finishCancel(ctx, changed.item as Home);
    await syncPromotions(ctx, [home]);
    return home;
  }
  return cancelAsRead(ctx, id, ifMatch);
}

/** Cancels the job that a key names. Throws as `cancel`. */
export async function cancelByKey(
  ctx: Context,
  topic: string,
  key: string,
  ifMatch?: IfMatch,
): Promise<Home> {
  return cancelAsRead(ctx, await idOfKey(ctx, topic, key), ifMatch);
}

/** Answers in the order of `ids`. One job's refusal does not affect the others. `marks`: the `Home.bulk` of cancelled jobs, by id. */
export async function cancelMany(
  ctx: Context,
  ids: readonly string[],
  leavesAlone?: (home: Head) => boolean,
  marks?: ReadonlyMap<string, string>,
): Promise<(Head | MinutehandError)[]> {
  return cancelAll(ctx, ids, { read: readHeads, leavesAlone, marks });
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

async function cancelAsRead(ctx: Context, id: string, ifMatch: IfMatch | undefined): Promise<Home> {
  const [result] = await cancelAll(ctx, [id], { read: readHomes, ifMatch });
  if (!result) throw notFound(id);
  if (result instanceof Error) throw result;
  return result;
}

/** `leavesAlone`: whether a job, as it was just read, is left unchanged. `marks`: as in `cancelMany`. */
type How<H extends Head> = {
  /** With the bodies or without. */
  readonly read: (ctx: Context, ids: readonly string[]) => Promise<(H | Unreadable | undefined)[]>;
  readonly leavesAlone?: ((home: Head) => boolean) | undefined;
  readonly marks?: ReadonlyMap<string, string> | undefined;
  readonly ifMatch?: IfMatch | undefined;
};

/** A job after a try to cancel it. `waiting`: somebody has changed it since it was read. */
type Tried<H> =
  | { readonly is: "waiting"; readonly home: H }
  | { readonly is: "cancelled" | "answered"; readonly answer: H | MinutehandError };

async function cancelAll<H extends Head>(
  ctx: Context,
  ids: readonly string[],
  how: How<H>,
): Promise<(H | MinutehandError)[]> {
  const answers = new Map<string, H | MinutehandError>();
  let left = [...new Set(ids)];
  for (let i = 0; i < TRIES && left.length > 0; i++) {
    const tried = await tryToCancel(ctx, left, how, i > 0);
    for (const [at, one] of tried.entries())
      if (one.is !== "waiting") answers.set(left[at] as string, one.answer);
    left = left.filter((id) => !answers.has(id));
  }
  const cancelled = [...answers.values()].flatMap((answer) =>
    answer instanceof Error || answer.state !== "cancelled" ? [] : answer,
  );
  await syncPromotions(ctx, cancelled);
  return ids.map((id) => answers.get(id) ?? keepsChanging(`job ${id}`, { id }));
}

/** Tries once to cancel jobs. `isRepeated`: an earlier try may have cancelled some of the jobs, and its answer was lost. */
async function tryToCancel<H extends Head>(
  ctx: Context,
  ids: readonly string[],
  how: How<H>,
  isRepeated: boolean,
): Promise<Tried<H>[]> {
  const homes = await how.read(ctx, ids);
  const now = ctx.clock();
  const met = ids.map((id, i) => meet(id, homes[i], now, how, isRepeated));
  const waiting = met.flatMap((one) => (one.is === "waiting" ? one.home : []));
  const written = await writeCancels(ctx, waiting, now, how.marks);
  const tried = met.map((one) => (one.is === "waiting" ? (written.get(one.home.id) ?? one) : one));
  await inParallel(tried, WIDTH, async (one) => {
    if (one.is === "cancelled" && !(one.answer instanceof Error)) await finishCancel(ctx, one.answer);
  });
  return tried;
}

function meet<H extends Head>(
  id: string,
  home: H | Unreadable | undefined,
  now: number,
  { leavesAlone, ifMatch }: How<H>,
  isRepeated: boolean,
): Tried<H> {
  if (isUnreadable(home)) return { is: "answered", answer: unreadableError(home) };
  if (!home) return { is: "answered", answer: notFound(id) };
  if (home.state === "cancelled") return { is: isRepeated ? "cancelled" : "answered", answer: home };
  const refusal = refusalOf(home, now);
  if (refusal) return { is: "answered", answer: refusal };
  if (!isAsSeen(home, ifMatch)) return { is: "answered", answer: changedMeanwhile(home) };
  return leavesAlone?.(home) ? { is: "answered", answer: home } : { is: "waiting", home };
}

async function writeCancels<H extends Head>(
  ctx: Context,
  waiting: readonly H[],
  now: number,
  marks: How<H>["marks"],
): Promise<ReadonlyMap<string, Tried<H>>> {
  const changes = waiting.map((home) => {
    const bulk = marks?.get(home.id);
    return cancelOf(ctx, home, now, bulk === undefined ? {} : { bulk });
  });
  await lookAtKeys(ctx, waiting, now);
  const outcomes = await ctx.pool.changeMany(changes, now + WRITER_DEADLINE);
  const triedAs = (home: H, i: number): Tried<H> => {
    const outcome = outcomes[i];
    if (outcome === "changed") return { is: "cancelled", answer: { ...home, ...changes[i]?.set } };
    if (outcome === "refused") return { is: "waiting", home };
    const { id } = home;
    const answer = new MinutehandError("unavailable", outcome?.message ?? "no answer", { id });
    return { is: "answered", answer };
  };
  return new Map(waiting.map((home, i) => [home.id, triedAs(home, i)]));
}

/** Throws as `requireUnclaimed`. */
function cancelOf(
  ctx: Context,
  home: Head,
  now: number,
  marks: Pick<Home, "bulk">,
  also: readonly (keyof Home)[] = [],
) {
  const set = { ...endAs(ctx, now), ...marks };
  requireUnclaimed(home, now);
  return home.state === "running"
    ? changeOf("cancelCrashed", home, { ...set, lastError: crashOf(home) }, { also })
    : changeOf("cancel", home, set, { also });
}

/** What a home says of a cancel: its end, and who asked. */
function endAs(ctx: Context, now: number) {
  return { ...endAt(ctx, now), ...(ctx.by && { cancelledBy: ctx.by() }) };
}

async function finishCancel<H extends Head>(ctx: Context, home: H): Promise<H> {
  await releaseKey(ctx, home, home.expiresAt ?? 0, ctx.clock() + WRITER_DEADLINE);
  ctx.report({ type: "cancelled", topic: home.topic, id: home.id });
  return home;
}
