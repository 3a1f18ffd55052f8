import { WRITER_DEADLINE } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { isNear } from "../core/home.ts";
import { type Home, homeKey, ttl } from "../core/items.ts";
import { releaseKey } from "./keys.ts";
import type { Attribute, Context } from "./ports.ts";
import { notFound, readHomes } from "./read-job.ts";
import { unheld } from "./reschedule.ts";
import { sendIfNear } from "./send.ts";

const TRIES = 10;

/**
 * Cancels a job, again and again: the answer is the cancelled job. Throws `job-not-found`, `job-running`,
 * `job-finished`, `job-handed-off`, `unavailable`.
 */
export async function cancel(ctx: Context, id: string): Promise<Home> {
  const [result] = await cancelMany(ctx, [id]);
  if (!result) throw notFound(id);
  if (result instanceof Error) throw result;
  return result;
}

/** Cancels many jobs, each on its own, and answers in their order. An id named twice is cancelled once. */
export async function cancelMany(ctx: Context, ids: readonly string[]): Promise<(Home | MinutehandError)[]> {
  const results = new Map<string, Home | MinutehandError>();
  let left = [...new Set(ids)];
  for (let i = 0; i < TRIES && left.length > 0; i++) left = await pass(ctx, left, results);
  return ids.map(
    (id) =>
      results.get(id) ??
      new MinutehandError("unavailable", `job ${id} keeps changing; repeat the call`, { id }),
  );
}

/** Answers the ids that were not as read. */
async function pass(
  ctx: Context,
  ids: readonly string[],
  results: Map<string, Home | MinutehandError>,
): Promise<string[]> {
  const homes = await readHomes(ctx, ids);
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  const expiresAt = ttl(now + ctx.policy.retention * 1000);
  const set: Record<string, Attribute> = { state: "cancelled", finishedAt: now, expiresAt };

  const waiting: Home[] = [];
  for (const [i, id] of ids.entries()) {
    const home = homes[i];
    const answer = home ? answerWithoutWriting(home, now) : notFound(id);
    if (answer) results.set(id, answer);
    else if (home) waiting.push(home);
  }
  const changes = waiting.map((home) => ({
    key: homeKey(home.id),
    expect: { ...unheld(home, now), revision: home.revision },
    set,
  }));
  const outcomes = await ctx.pool.changeMany(changes, by);
  const again: string[] = [];
  for (const [i, home] of waiting.entries()) {
    const outcome = outcomes[i];
    if (outcome === "changed") {
      // Looked at before and after: a sweep may have passed while the write was under way.
      const tooLate = handedOff(home, ctx.clock());
      if (tooLate) await takeBack(ctx, home, set);
      results.set(home.id, tooLate ?? ({ ...home, ...set } as Home));
      if (tooLate) continue;
      await releaseKey(ctx, home, expiresAt, by);
      ctx.report({ type: "cancelled", topic: home.topic, id: home.id });
    } else if (outcome === "refused") again.push(home.id);
    else
      results.set(
        home.id,
        new MinutehandError("unavailable", outcome?.message ?? "no answer", { id: home.id }),
      );
  }
  return again;
}

function answerWithoutWriting(home: Home, now: number): Home | MinutehandError | undefined {
  if (home.state === "cancelled") return home;
  try {
    unheld(home, now);
  } catch (error) {
    if (error instanceof MinutehandError) return error;
    throw error;
  }
  return handedOff(home, now);
}

function handedOff(home: Home, now: number): MinutehandError | undefined {
  if (!home.untracked || !isNear(home.dueAt, now)) return undefined;
  return new MinutehandError(
    "job-handed-off",
    `job ${home.id} of the untracked topic ${home.topic} is due within 210 s: SQS has it, or may have`,
    { id: home.id },
  );
}

/**
 * Undoes a cancel that came too late, and sends the job: a sweep that saw the cancel has passed it over, one
 * that did not has sent it, and a caller who was refused may count on it. It may so come twice, as an
 * untracked job may.
 */
async function takeBack(ctx: Context, home: Home, set: Record<string, Attribute>): Promise<void> {
  const change = {
    key: homeKey(home.id),
    expect: { state: "cancelled", finishedAt: set.finishedAt as number },
    set: { state: "scheduled", ...(home.expiresAt === undefined ? {} : { expiresAt: home.expiresAt }) },
    remove: ["finishedAt"],
  };
  await ctx.pool.change(change, ctx.clock() + WRITER_DEADLINE);
  await sendIfNear(ctx, [home]);
}
