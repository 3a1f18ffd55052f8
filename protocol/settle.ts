import { backoffMs } from "../core/backoff.ts";
import { inParallel } from "../core/batches.ts";
import { ERROR_BYTES, WRITER_DEADLINE } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { crashOf } from "../core/home.ts";
import { type Home, homeKey, ttl } from "../core/items.ts";
import { truncate } from "../core/text.ts";
import { asCancelled } from "./cancel.ts";
import { die } from "./die.ts";
import { releaseKey } from "./keys.ts";
import { isAsSet, move } from "./move.ts";
import { policyOf } from "./policy.ts";
import type { Context, Expected } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { sendIfNear } from "./send.ts";

/** A claim in hand. */
export type Held = { id: string; topic: string; token: string; attempt: number; key?: string };

/** How a run ended. Durations are ms. */
export type Ending =
  | { end: "done" }
  /** `retryAfter`: instead of the backoff; `notBefore`: where the backoff is shorter. */
  | { end: "failed"; error: string; retryAfter?: number; notBefore?: number; verb?: string }
  /** Asked for by the handler: no failure, counts no attempt. */
  | { end: "retry-in"; wait: number }
  | { end: "buried"; error: string; verb?: string };

/** `lost`: the claim is not ours any more; whatever ended it stands. */
export type Settled = "settled" | "lost";

/** Records runs that succeeded, in one batch. An `Error` is an unknown outcome: repeat it. */
export async function settleDone(
  ctx: Context,
  held: readonly Held[],
  by: number,
): Promise<(Settled | Error)[]> {
  const now = ctx.clock();
  const expiresAt = ttl(now + ctx.policy.retention * 1000);
  const outcomes = await ctx.pool.changeMany(
    held.map(({ id, token }) => ({
      key: homeKey(id),
      expect: { token, state: "running" },
      set: { state: "done", finishedAt: now, expiresAt },
    })),
    by,
  );
  const refused = held.filter((_, i) => outcomes[i] === "refused");
  const homes = await readHomes(
    ctx,
    refused.map(({ id }) => id),
  );
  const found = new Map(homes.flatMap((home) => (home ? [[home.id, home] as const] : [])));
  return inParallel([...held.entries()], 8, async ([i, run]): Promise<Settled | Error> => {
    const outcome = outcomes[i];
    if (outcome instanceof Error) return outcome;
    const home = found.get(run.id);
    // Our own settle, whose answer was lost, finds its token in a job that is done.
    if (outcome === "refused" && !(home?.state === "done" && home.token === run.token)) return "lost";
    await releaseKey(ctx, run, expiresAt, by);
    ctx.report({ type: "done", topic: run.topic, id: run.id, attempt: run.attempt });
    return "settled";
  });
}

/** Records a run that did not succeed: moved by its backoff, by what the handler asked, or dead. */
export async function settleOtherwise(
  ctx: Context,
  held: Held,
  ending: Exclude<Ending, { end: "done" }>,
): Promise<Settled> {
  const [home] = await readHomes(ctx, [held.id]);
  if (!home) return "lost";
  const verb =
    "verb" in ending && ending.verb !== undefined ? { settledBy: `${ending.verb}:${held.token}` } : {};
  if (home.token !== held.token || home.state !== "running") {
    if (!("settledBy" in verb) || home.settledBy !== verb.settledBy) return "lost";
    // The first call may have died before sending.
    if (home.state === "scheduled") await sendIfNear(ctx, [home]);
    return "settled";
  }
  const expect = { token: held.token, state: "running" };
  if (ending.end === "buried") {
    return (await die(ctx, home, { error: ending.error, expect, ...verb })) ? "settled" : "lost";
  }
  if (ending.end === "retry-in") {
    const run = { home, expect };
    if (home.cancelAskedAt !== undefined) return cancelRun(ctx, run);
    const moved = await move(ctx, home, {
      dueAt: ctx.clock() + ending.wait,
      expect: { ...expect, cancelAskedAt: undefined },
      set: { attempt: home.attempt - 1 },
      end: { what: "asked-to-retry" },
      why: "asked to retry",
    });
    return moved.moved ? "settled" : cancelIfAsked(ctx, run, moved.home);
  }
  return failAttempt(ctx, home, { ...ending, expect, ...verb });
}

/**
 * Records a run whose lease has ended as a failed attempt, on the condition that nobody else did: never a
 * claim over a claim, so that its repeat cannot run the attempt twice.
 */
export async function settleCrash(ctx: Context, home: Home): Promise<Settled> {
  const expect = { state: "running", token: home.token, leaseEnd: home.leaseEnd };
  return failAttempt(ctx, home, { error: crashOf(home), expect });
}

async function failAttempt(
  ctx: Context,
  home: Home,
  failure: {
    error: string;
    retryAfter?: number;
    notBefore?: number;
    expect: Expected;
    settledBy?: string;
  },
): Promise<Settled> {
  const policy = policyOf(ctx, home.topic);
  const { settledBy } = failure;
  const error = truncate(failure.error, ERROR_BYTES);
  const says = { lastError: error, ...(settledBy === undefined ? {} : { settledBy }) };
  const run = { home, expect: failure.expect, says };
  if (home.cancelAskedAt !== undefined) return cancelRun(ctx, run);
  const expect = { ...failure.expect, cancelAskedAt: undefined };
  if (home.attempt >= (home.maxAttempts ?? policy.maxAttempts)) {
    const record = { error, expect, ...(settledBy === undefined ? {} : { settledBy }) };
    if (await die(ctx, home, record)) return "settled";
    return cancelIfAsked(ctx, run, (await readHomes(ctx, [home.id]))[0]);
  }
  const [byte = 0] = ctx.random(1);
  const backoff = Math.max(backoffMs(policy.backoff, home.attempt, byte / 256), failure.notBefore ?? 0);
  const wait = failure.retryAfter ?? backoff;
  const end = { what: "failed", error } as const;
  const moved = await move(ctx, home, { dueAt: ctx.clock() + wait, expect, set: says, end, why: "failed" });
  if (!moved.moved) return cancelIfAsked(ctx, run, moved.home);
  ctx.report({ type: "failed", topic: home.topic, id: home.id, attempt: home.attempt, error });
  return "settled";
}

/** A run that was not the job's last, as it was read. `says`: why it failed; absent: it asked to be repeated. */
type Unfinished = { home: Home; expect: Expected; says?: { lastError: string; settledBy?: string } };

/** An event may have come between the reading and the writing. */
async function cancelIfAsked(ctx: Context, run: Unfinished, found: Home | undefined): Promise<Settled> {
  const isOurs = found?.state === "running" && found.token === run.home.token;
  return isOurs && found.cancelAskedAt !== undefined ? cancelRun(ctx, run) : "lost";
}

/** Ends a job instead of running it again, as an event has cancelled it meanwhile. */
async function cancelRun(ctx: Context, { home, expect, says }: Unfinished): Promise<Settled> {
  const now = ctx.clock();
  const set = { ...says, ...asCancelled(ctx, now) };
  const change = {
    key: homeKey(home.id),
    expect: { ...expect, revision: home.revision },
    set,
    ...(says ? {} : { remove: ["lastError"] }),
  };
  const { changed, item } = await ctx.pool.change(change, now + WRITER_DEADLINE);
  if (!item || !(changed || isAsSet(item, set))) return "lost";
  await releaseKey(ctx, home, set.expiresAt, now + WRITER_DEADLINE);
  ctx.report({ type: "cancelled", topic: home.topic, id: home.id });
  return "settled";
}

/** Throws what a settle met, for a caller who is told. */
export function claimLost(id: string): MinutehandError {
  return new MinutehandError(
    "claim-lost",
    `job ${id} is not held by this receipt any more: its lease ended, or it was settled by another call`,
    { id },
  );
}
