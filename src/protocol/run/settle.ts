import { backoffMs, crashSpread } from "../../core/backoff.ts";
import { BATCH_PATIENCE, ERROR_BYTES, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { crashOf, type Home, type HomeIn, type Throttled } from "../../core/home.ts";
import { linesOf, withLine } from "../../core/once.ts";
import { isUnreadable, readHome } from "../../core/readable.ts";
import { changeOf } from "../../core/states.ts";
import { THROTTLED } from "../../core/thrown.ts";
import { inParallel } from "../../general/batches.ts";
import { truncate } from "../../general/text.ts";
import { hasAttributes, move } from "../change/move.ts";
import { endAt, policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import { releaseKey } from "../store/keys.ts";
import { readReadableHomes } from "../store/read-job.ts";
import { noteTroubled } from "../store/troubled.ts";
import { askForRun, countThrottled } from "./ask-for-run.ts";
import { die } from "./die.ts";

/** What the settle of a run must know of its claim. */
export type ClaimedRun = { id: string; topic: string; token: string; attempt: number; key?: string };

/** How a run ended. Durations are ms. */
export type Ending =
  | { end: "done" }
  /** `retryAfter` replaces the backoff, `notBefore` a shorter backoff. `verb`: the call of a pull, whose repeat answers the same. */
  | { end: "failed"; error: string; retryAfter?: number; notBefore?: number; verb?: string }
  /** The handler asked for another run. This one is no attempt. */
  | { end: "retry-in"; wait: number }
  /** The run could not begin, because the target is throttled. It is no attempt. */
  | { end: "throttled"; error: string }
  | { end: "buried"; error: string; verb?: string };

/** `lost`: the lease ended or another settle came first, and this call has changed nothing. */
export type Settled = "settled" | "lost";

/**
 * Records successful runs in one batch. An `Error`: the outcome is unknown, so call again. A throttled update is given up after
 * `BATCH_PATIENCE`, and at `by` at the latest (ms since the epoch), because other settles wait behind this batch.
 */
export async function settleDone(
  ctx: Context,
  runs: readonly ClaimedRun[],
  by: number,
): Promise<(Settled | Error)[]> {
  const now = ctx.clock();
  const patience = (): number => Math.min(ctx.clock() + BATCH_PATIENCE, by);
  const end = endAt(ctx, now);
  const outcomes = await ctx.pool.changeMany(
    runs.map((run) => changeOf("finish", run, end)),
    patience(),
  );
  // rule: settle-reads-only-what-was-refused
  const refused = runs.filter((_, i) => outcomes[i] === "refused");
  const ids = refused.map(({ id }) => id);
  const homes = ids.length === 0 ? [] : await readReadableHomes(ctx, ids, "settling jobs");
  const found = new Map(homes.flatMap((home) => (home ? [[home.id, home] as const] : [])));
  return inParallel([...runs.entries()], 8, async ([i, run]): Promise<Settled | Error> => {
    const outcome = outcomes[i];
    if (outcome instanceof Error) return outcome;
    const home = found.get(run.id);
    // Only the answer to this settle was lost.
    if (outcome === "refused" && !(home?.state === "done" && home.token === run.token)) return "lost";
    if (run.key !== undefined) await releaseKey(ctx, run, end.expiresAt, patience());
    ctx.report({ type: "done", topic: run.topic, id: run.id, attempt: run.attempt });
    return "settled";
  });
}

/** The job runs again, is dead, or is cancelled. */
export async function settleOtherwise(
  ctx: Context,
  claim: ClaimedRun,
  ending: Exclude<Ending, { end: "done" }>,
): Promise<Settled> {
  const [home] = await readReadableHomes(ctx, [claim.id], "settling a job");
  if (!home) return "lost";
  const by = "verb" in ending && ending.verb !== undefined ? `${ending.verb}:${claim.token}` : undefined;
  if (home.token !== claim.token || home.state !== "running") return repeatOrLost(ctx, home, by);
  if (ending.end === "failed") return failAttempt(ctx, home, ending, by);
  if (ending.end === "buried") return bury(ctx, home, ending.error, by);
  if (ending.end === "throttled") return waitForTarget(ctx, home, ending.error);
  const { askedRuns, refusal } = askForRun(ctx, home);
  if (refusal !== undefined) return bury(ctx, home, refusal, by);
  return endRun(ctx, { home }, async (run) => {
    const moved = await move(ctx, run.home, {
      change: "retry",
      dueAt: ctx.clock() + ending.wait,
      set: { attempt: run.home.attempt - 1, askedRuns },
      end: { what: "asked-to-retry" },
      why: "asked to retry",
    });
    return moved.moved ? "settled" : moved.home;
  });
}

function bury(ctx: Context, home: HomeIn<"running">, error: string, by: By): Promise<Settled> {
  const says = { lastError: truncate(error, ERROR_BYTES), ...settledBy(home, by) };
  return endRun(ctx, { home, says, by }, (run) => dieOf(ctx, run, says));
}

/** The call of a puller that settles: `<verb>:<token>`. `undefined`: a consumer settles. */
type By = string | undefined;

function settledBy(home: Home, by: By): { settledBy?: string } {
  return by === undefined ? {} : { settledBy: withLine(home.settledBy, by) };
}

/** Tells a repeat of a settle, at the same moment as the first or later, from a call whose claim is lost. */
async function repeatOrLost(ctx: Context, home: Home, by: By): Promise<Settled> {
  if (by === undefined || !linesOf(home.settledBy).includes(by)) return "lost";
  // The first call may have died before it sent the job.
  if (home.state === "scheduled") await sendIfNear(ctx, [{ ...home, spare: true }]);
  return "settled";
}

/** Gives back a claim that was not started. The job waits again at once, and no attempt is counted. */
export function giveClaimBack(ctx: Context, claim: ClaimedRun): Promise<Settled> {
  return settleOtherwise(ctx, claim, { end: "retry-in", wait: 0 });
}

/** A run whose lease has ended is a failed attempt. The revision changes: no attempt runs twice. */
export async function settleCrash(ctx: Context, home: HomeIn<"running">): Promise<Settled> {
  return failAttempt(ctx, home, { error: crashOf(home), isCrash: true });
}

async function failAttempt(
  ctx: Context,
  home: HomeIn<"running">,
  failure: { error: string; retryAfter?: number; notBefore?: number; isCrash?: true },
  by?: By,
): Promise<Settled> {
  const policy = policyOf(ctx, home.topic);
  const { isCrash } = failure;
  const error = truncate(failure.error, ERROR_BYTES);
  const says = { lastError: error, ...settledBy(home, by) };
  return endRun(ctx, { home, says, by, ...(isCrash && { also: ["leaseEnd"] }) }, async (run) => {
    if (home.attempt >= (home.maxAttempts ?? policy.maxAttempts)) return dieOf(ctx, run, says);
    const [byte = 0, second = 0] = ctx.random(2);
    const wait = backoffMs(policy.backoff, home.attempt, byte / 256);
    const apart = isCrash ? crashSpread(wait) * (second / 256) : 0;
    const backoff = Math.max(wait + Math.round(apart), failure.notBefore ?? 0);
    return retry(ctx, run, failure.retryAfter ?? backoff, says, "failed");
  });
}

/** No attempt is used, but the job counts as waiting for a retry, as after a failed one. */
async function waitForTarget(ctx: Context, home: HomeIn<"running">, reason: string): Promise<Settled> {
  const { throttled, wait } = countThrottled(ctx, home);
  const lastError = truncate(`${THROTTLED}${reason}`, ERROR_BYTES);
  const set = { lastError, throttled, attempt: home.attempt - 1 };
  return endRun(ctx, { home }, (run) => retry(ctx, run, wait, set, "throttled"));
}

async function retry(
  ctx: Context,
  { home, also = [] }: Unfinished,
  wait: number,
  set: Says & { throttled?: Throttled; attempt?: number },
  why: string,
): Promise<SettledOrChanged> {
  const since = ctx.clock();
  const dueAt = since + wait;
  // The note is written at the same time as the move: a process that is about to end must not wait for the note first.
  const noted = noteTroubled(ctx, "retrying", [{ id: home.id, topic: home.topic, time: dueAt, since }]);
  const isThrottled = set.throttled !== undefined;
  const end = { what: "failed", error: set.lastError, ...(isThrottled && { isThrottled }) } as const;
  const [moved] = await Promise.all([
    move(ctx, home, { change: "retry", dueAt, also, set, end, why }),
    noted,
  ]);
  return moved.moved ? "settled" : moved.home;
}

type Unfinished = {
  home: HomeIn<"running">;
  by?: By;
  /** Attributes that must be as they were read: of a crashed run, the end of its lease. */
  also?: readonly (keyof Home)[];
  /** Absent if the handler asked for another run. */
  says?: Says;
};
type Says = { lastError: string; settledBy?: string };
/** A home: it has changed, and is answered as it is now. `undefined`: no home can be read. */
type SettledOrChanged = "settled" | Home | undefined;

/**
 * Ends a run by `unlessCancelled`, or cancels the job if an event has asked for it. Tries again if a cancel comes or goes meanwhile. If the run
 * has ended meanwhile, the same call may have ended it.
 */
async function endRun(
  ctx: Context,
  read: Unfinished,
  unlessCancelled: (run: Unfinished) => Promise<SettledOrChanged>,
): Promise<Settled> {
  for (let { home } = read; ; ) {
    const { cancelAskedAt, once } = home;
    const run = { ...read, home };
    // rule: event-cancels-a-failed-run
    const ended = await (cancelAskedAt === undefined ? unlessCancelled(run) : cancelRun(ctx, run));
    if (ended === "settled") return ended;
    if (!ended) return "lost";
    if (!isSameRun(read, ended)) return repeatOrLost(ctx, ended, read.by);
    if (ended.cancelAskedAt === cancelAskedAt && ended.once === once) return "lost";
    home = ended;
  }
}

function isSameRun({ home, also = [] }: Unfinished, now: Home): now is HomeIn<"running"> {
  return (["state", "token", ...also] as const).every((name) => now[name] === home[name]);
}

async function dieOf(
  ctx: Context,
  { home, also = [] }: Unfinished,
  { lastError: error, ...verb }: Says,
): Promise<SettledOrChanged> {
  if (await die(ctx, home, "die", { error, also, ...verb })) return "settled";
  return (await readReadableHomes(ctx, [home.id], "settling a job"))[0];
}

async function cancelRun(ctx: Context, { home, also = [], says }: Unfinished): Promise<SettledOrChanged> {
  const now = ctx.clock();
  const remove = says ? [] : ["lastError"];
  const change = changeOf("cancelRun", home, { ...says, ...endAt(ctx, now) }, { also, remove });
  const { changed, item } = await ctx.pool.change(change, now + WRITER_DEADLINE);
  const found = item && readHome(item, home.id);
  if (!found || isUnreadable(found)) return undefined;
  if (!changed && !hasAttributes(found, change.set)) return found;
  await releaseKey(ctx, home, change.set.expiresAt, now + WRITER_DEADLINE);
  ctx.report({ type: "cancelled", topic: home.topic, id: home.id });
  return "settled";
}

export function claimLost(id: string): MinutehandError {
  return new MinutehandError(
    "claim-lost",
    `this receipt no longer holds the claim of job ${id}: its lease ended, or another call settled the job`,
    { id },
  );
}
