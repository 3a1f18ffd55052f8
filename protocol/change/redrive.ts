import { ONCE_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { isNear, startsAt } from "../../core/home.ts";
import {
  type Chosen,
  chosenKey,
  deadKey,
  type Head,
  type Home,
  ITEM_VERSION,
  type Key,
  ttl,
} from "../../core/items.ts";
import { type CallMark, withCall } from "../../core/once.ts";
import { isUnreadable } from "../../core/readable.ts";
import { chunksOf, inParallel } from "../../general/batches.ts";
import { knownFollowedAt } from "../gate/known-pauses.ts";
import { openingOf } from "../gate/start-gate.ts";
import type { Context } from "../ports.ts";
import { deadJobs } from "../read/dead-jobs.ts";
import { sendIfNear } from "../send/send.ts";
import { reclaimKey, withOwnKeys } from "../store/keys.ts";
import { readableHomes, readHeads } from "../store/read-job.ts";
import { cannotRead, readable, reportUnreadable } from "../store/unreadable.ts";
import { differentRequest, isKnownCall } from "./calls.ts";
import { move } from "./move.ts";

export type RedriveRequest = {
  /** These jobs; else the oldest `max`. */
  ids?: readonly string[];
  max: number;
  /** ms from now to the first run. */
  delay: number;
  /** Spreads the runs: at most this many a second. */
  ratePerSecond?: number;
  /** The call that came with an `Idempotency-Key`. */
  call?: CallMark;
};

export type Redriven = { redriven: number; left: number };

const WIDTH = 8;
/** Counting what is left stops here: the answer is then at least that. */
const COUNT_TO = 1000;
/** One read of DynamoDB's. */
const KEYS_AT_ONCE = 100;

/**
 * Runs dead jobs again, job by job through their homes, each with a full set of attempts. `left`: how many
 * are dead still, counted up to 1,000. A job whose key names another by now stays dead, and is none of the oldest `max`. The
 * same `call` again takes the same jobs, counts those that it has redriven before, and leaves them as they are.
 * Throws `job-not-found`, `idempotency-mismatch`, `unavailable`.
 */
export async function redrive(ctx: Context, topic: string, request: RedriveRequest): Promise<Redriven> {
  const { call } = request;
  const homes = request.ids
    ? await chosenHomes(ctx, topic, request.ids)
    : await oldestHomes(ctx, topic, request.max, call);
  const before = new Set(call ? homes.filter((home) => isKnownCall(home, call)) : []);
  const chosen = homes.filter((home) => before.has(home) || home.state === "dead");
  // The starts of a rate would all come at once where consumers have not followed a resume yet.
  const first = request.ratePerSecond === undefined ? 0 : await knownFollowedAt(ctx, topic);
  const start = Math.max(ctx.clock() + request.delay, first);
  const starts = startsOf(ctx, topic, request.ratePerSecond, start, chosen.length);
  const redriven = await inParallel(
    [...chosen.entries()],
    WIDTH,
    async ([i, head]) => before.has(head) || redriveAsRead(ctx, head, starts[i] ?? start, call),
  );
  await sendAgain(ctx, [...before], "redriving jobs");
  return { redriven: redriven.filter(Boolean).length, left: await countDead(ctx, topic) };
}

/**
 * The starts of `count` jobs from `start` on, at a rate. They lie in the topic's window: the window would let all starts outside it
 * go at its next opening, at once.
 */
function startsOf(
  ctx: Context,
  topic: string,
  ratePerSecond: number | undefined,
  start: number,
  count: number,
): number[] {
  if (ratePerSecond === undefined) return new Array<number>(count).fill(start);
  const starts: number[] = [];
  for (let next = start; starts.length < count; next += 1000 / ratePerSecond) {
    next = openingOf(ctx, topic, next);
    starts.push(next);
  }
  return starts;
}

/**
 * Moves a dead job to `dueAt`. Whether it was dead and moved. `call`: the call that asked for it. `patience`: ms that its
 * writes may take.
 */
export async function redriveJob(
  ctx: Context,
  home: Home,
  dueAt: number,
  { call, patience = WRITER_DEADLINE }: { call?: CallMark | undefined; patience?: number } = {},
): Promise<boolean> {
  const at = Math.round(Math.max(dueAt, ctx.clock()));
  const together = home.key === undefined ? undefined : await reclaimKey(ctx, home);
  if (together === "taken") return false;
  const moved = await move(ctx, home, {
    dueAt: at,
    expect: { state: "dead" },
    set: {
      attempt: 0,
      wantedAt: at,
      askedAt: ctx.clock(),
      restarts: (home.restarts ?? 0) + 1,
      ...(call ? { calls: withCall(home.calls, call) } : {}),
    },
    // rule: redriven-job-takes-its-key
    ...(together ? { together: [together] } : {}),
    why: "redriven",
    patience,
  });
  if (!moved.moved) return false;
  // Its dead letter goes in the tick, which sees that the home has moved; an entry that stays lists nothing.
  try {
    const entry = deadKey(home.topic, home.finishedAt ?? 0, home.id);
    await ctx.pool.remove([entry], ctx.clock() + patience);
  } catch (error) {
    ctx.report({
      type: "trouble",
      topic: home.topic,
      what: "removing a dead entry",
      error: messageOf(error),
    });
  }
  return true;
}

/** The same of a job as it was read without its body. */
export async function redriveAsRead(
  ctx: Context,
  { id, revision }: Head,
  dueAt: number,
  call?: CallMark,
): Promise<boolean> {
  const [home] = await readableHomes(ctx, [id], "redriving jobs");
  return home?.state === "dead" && home.revision === revision && redriveJob(ctx, home, dueAt, { call });
}

/** Sends jobs that a call moved before: it may have died before it sent them. `what`: what it is doing. */
export async function sendAgain(ctx: Context, heads: readonly Head[], what: string): Promise<void> {
  const now = ctx.clock();
  const near = heads.filter((head) => head.state === "scheduled" && isNear(startsAt(head), now));
  for (const part of chunksOf(near, ctx.sizes.looks)) {
    const ids = part.map(({ id }) => id);
    const homes = await readableHomes(ctx, ids, what);
    await sendIfNear(
      ctx,
      homes.flatMap((home) => (home?.state === "scheduled" ? { ...home, spare: true as const } : [])),
    );
  }
}

async function chosenHomes(ctx: Context, topic: string, ids: readonly string[]): Promise<Head[]> {
  const unique = [...new Set(ids)];
  const homes = await readHeads(ctx, unique);
  return homes.map((home, i) => {
    if (isUnreadable(home)) throw cannotRead(home);
    if (home?.topic === topic) return home;
    throw new MinutehandError("job-not-found", `topic ${topic} has no job ${unique[i]}`, { id: unique[i] });
  });
}

/** A call that may be repeated notes which jobs it means before it moves any: afterwards others are the oldest. */
async function oldestHomes(
  ctx: Context,
  topic: string,
  max: number,
  call: CallMark | undefined,
): Promise<Head[]> {
  if (!call) return deadHomes(ctx, topic, max);
  const key = chosenKey(topic, call.key);
  const before = await readChosen(ctx, key);
  const now = ctx.clock();
  if (before && !isForgotten(before, now)) return homesOf(ctx, before, call);
  const homes = await deadHomes(ctx, topic, max);
  const ids = homes.map(({ id }) => id).join("\n");
  const chosen = { ids, request: call.request, expiresAt: ttl(now + ONCE_AFTER) };
  const isNoted = await noteChosen(ctx, key, chosen, before, now + WRITER_DEADLINE);
  // Noted before: by this try, its answer lost, or by another of the same call, which may have chosen otherwise.
  const noted = isNoted ? undefined : await readChosen(ctx, key);
  return noted ? homesOf(ctx, noted, call) : homes;
}

/** Whether this choice is noted now. `before`: what it replaces. */
async function noteChosen(
  ctx: Context,
  key: Key,
  chosen: Pick<Chosen, "ids" | "request" | "expiresAt">,
  before: Chosen | undefined,
  by: number,
): Promise<boolean> {
  if (before)
    return (await ctx.pool.change({ key, expect: { expiresAt: before.expiresAt }, set: chosen }, by)).changed;
  const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION, ...chosen }], by);
  if (outcome instanceof Error) throw outcome;
  return outcome === "inserted";
}

/** TTL deletes days late. */
function isForgotten({ expiresAt }: Chosen, now: number): boolean {
  return expiresAt * 1000 <= now;
}

async function readChosen(ctx: Context, key: Key): Promise<Chosen | undefined> {
  const [read] = (await ctx.pool.read([key])) as [Chosen | undefined];
  return readable(read, "what this call chose before");
}

async function homesOf(ctx: Context, chosen: Chosen, { request }: CallMark): Promise<Head[]> {
  if (chosen.request !== request) throw differentRequest({});
  const ids = chosen.ids === "" ? [] : chosen.ids.split("\n");
  const homes = await readHeads(ctx, ids);
  reportUnreadable(ctx, "redriving jobs", homes.filter(isUnreadable));
  return homes.filter((home) => home !== undefined && !isUnreadable(home));
}

/**
 * The oldest dead jobs, but for those whose keys name others by now: these stay dead, and would be the oldest at each call, so
 * that no call would come to the jobs behind them.
 */
async function deadHomes(ctx: Context, topic: string, max: number): Promise<Head[]> {
  const homes: Head[] = [];
  let met: Head[] = [];
  let atOnce = max;
  for await (const { home } of deadJobs(ctx, topic)) {
    met.push(home);
    if (met.length < atOnce) continue;
    homes.push(...(await withOwnKeys(ctx, topic, met)));
    if (homes.length >= max) break;
    met = [];
    atOnce = KEYS_AT_ONCE;
  }
  if (homes.length < max) homes.push(...(await withOwnKeys(ctx, topic, met)));
  return homes.slice(0, max);
}

async function countDead(ctx: Context, topic: string): Promise<number> {
  let count = 0;
  for await (const _ of deadJobs(ctx, topic)) if (++count === COUNT_TO) break;
  return count;
}
