import { inParallel } from "../core/batches.ts";
import { WRITER_DEADLINE } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { hasCrashed } from "../core/home.ts";
import { type Home, noteIn, type Parked, parkedIn, pauseKey } from "../core/items.ts";
import { BEGINNING, END } from "../core/position.ts";
import { isUnreadable } from "../core/readable.ts";
import { nextOpening } from "../cron/window.ts";
import { bookStarts } from "./book-starts.ts";
import { moveHeld } from "./hold.ts";
import { readPauses } from "./known-pauses.ts";
import { countParked } from "./park.ts";
import { lift } from "./pause.ts";
import { policyOf } from "./policy.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { sendIfNear } from "./send.ts";
import { shardCount } from "./shards.ts";
import { lookAtUnreadableAgain, type Met } from "./unreadable.ts";

/** `released`: how many parked jobs this call let go. `left`: how many are parked still, counted up to 1,000. */
export type Resumed = { released: number; left: number };

const WIDTH = 16;
/** How long a caller waits for a resume; ticks do the rest. */
const CALLER_WAITS = 5_000;

/** Lets a paused topic's jobs go, at most `rate` a second, or all at once. Throws `unavailable`. */
export async function resume(ctx: Context, topic: string, rate: number | undefined): Promise<Resumed> {
  const until = ctx.clock() + CALLER_WAITS;
  if (!(await lift(ctx, topic, rate))) return { released: 0, left: 0 };
  const released = await release(ctx, topic, until);
  return { released, left: await countParked(ctx, topic) };
}

/** Moves a topic's parked jobs to their starts, the oldest first, while it is being resumed. Answers how many it moved. */
export async function release(ctx: Context, topic: string, until: number): Promise<number> {
  const shards = Array.from({ length: await shardCount(ctx) }, (_, shard) => shard);
  let released = 0;
  while (ctx.clock() < until) {
    const pages = await inParallel(shards, WIDTH, (shard) =>
      ctx.pool.page(parkedIn(topic, shard), BEGINNING, END, ctx.sizes.parkedPage),
    );
    // Beyond the end of a page that has more behind it there may be older ones.
    const ends = pages.flatMap(({ items, more }) => (more ? (items.at(-1)?.sk ?? []) : [])).sort();
    const notes = pages
      .flatMap(({ items }) => items.flatMap((item) => noteIn(item) ?? []))
      .filter(({ sk }) => ends[0] === undefined || sk <= ends[0])
      .sort((a, b) => (a.sk < b.sk ? -1 : 1))
      .slice(0, ctx.sizes.released);
    if (notes.length === 0) return released;
    const moved = await releaseThese(ctx, topic, notes);
    if (moved === "paused again") return released;
    released += moved;
  }
  return released;
}

async function releaseThese(
  ctx: Context,
  topic: string,
  notes: readonly Parked[],
): Promise<number | "paused again"> {
  const homes = await readHomes(
    ctx,
    notes.map(({ id }) => id),
  );
  const now = ctx.clock();
  const waiting: Home[] = [];
  // Crashed runs are settled by whoever meets their message; the mover of a job that has moved on may have died.
  const toSend: Home[] = [];
  const unreadable: Met[] = [];
  for (const [i, { revision }] of notes.entries()) {
    const home = homes[i];
    // Looks take it over from its note.
    if (isUnreadable(home)) unreadable.push({ ...home, since: now });
    else if (home?.state === "scheduled" && home.revision === revision) waiting.push(home);
    else if (home && (home.state === "scheduled" || hasCrashed(home, now))) toSend.push(home);
  }
  await lookAtUnreadableAgain(ctx, "resuming a topic", unreadable);
  const starts = await reserve(ctx, topic, waiting);
  if (!starts) return "paused again";
  const outcomes = await moveHeld(
    ctx,
    waiting.map((home, i) => ({ home, from: home.dueAt, until: starts[i] ?? now })),
  );
  const moved = outcomes.flatMap((outcome) => (outcome instanceof Error || !outcome ? [] : outcome));
  // An older note of a job that has just been moved has nothing to say.
  const released = new Set(waiting.map(({ id }) => id));
  await sendIfNear(ctx, [...moved, ...toSend.filter(({ id }) => !released.has(id))]);
  const unknown = new Set(waiting.filter((_, i) => outcomes[i] instanceof Error).map(({ id }) => id));
  const done = notes.filter(({ id }) => !unknown.has(id));
  await ctx.pool.remove(done, ctx.clock() + WRITER_DEADLINE);
  if (moved.length > 0) ctx.report({ type: "released", topic, jobs: moved.length });
  if (unknown.size > 0) {
    const message = `${unknown.size} parked jobs of topic ${topic} could not be moved; the next tick tries again`;
    throw new MinutehandError("unavailable", message);
  }
  return moved.length;
}

const TRIES = 10;

/**
 * The next starts of a topic that is being resumed, for jobs in the order of their due times, which sweeps park ahead of
 * them; `undefined`: it is paused again, or over.
 */
async function reserve(ctx: Context, topic: string, homes: readonly Home[]): Promise<number[] | undefined> {
  for (let i = 0; i < TRIES; i++) {
    const now = ctx.clock();
    const [pause] = await readPauses(ctx, [topic]);
    if (pause?.state !== "resuming") return undefined;
    const { changedAt, rate, nextAt = now } = pause;
    const { maxPerSecond, window } = policyOf(ctx, topic);
    const apart = rate === undefined ? 0 : 1000 / rate;
    let next = Math.max(nextAt, now);
    const wanted = homes.map(({ dueAt }) => {
      const start = nextOpening(window, Math.max(next, dueAt));
      next = start + apart;
      return Math.round(start);
    });
    if (rate !== undefined && homes.length > 0) {
      const expect = { state: "resuming", changedAt, rate, nextAt: pause.nextAt };
      const set = { nextAt: Math.round(next) };
      const change = { key: pauseKey(topic), expect, set };
      if (!(await ctx.pool.change(change, now + WRITER_DEADLINE)).changed) continue;
    }
    return maxPerSecond === undefined ? wanted : bookStarts(ctx, topic, maxPerSecond, wanted, window);
  }
  throw new MinutehandError("unavailable", `the pause of topic ${topic} keeps changing; repeat the call`);
}
