import { messageOf } from "../core/errors.ts";
import { isNear, startsAt } from "../core/home.ts";
import type { Home } from "../core/items.ts";
import type { TopicPolicy } from "../core/policy.ts";
import { nextOpening } from "../cron/window.ts";
import { bookStarts } from "./book-starts.ts";
import { type Hold, moveHeld, noteStarts } from "./hold.ts";
import { policyOf } from "./policy.ts";
import type { Context } from "./ports.ts";

/** Jobs as limits and windows let them: those to send now, each saying when it starts, and those it could not settle. */
export type Shaped = { going: Home[]; failed: Map<string, Error> };

/**
 * Gives the jobs of limited topics their starts, at most `maxPerSecond` in a second, whoever hands them over, and those
 * that would start outside their topic's window its next opening; notes them in their homes. A start once given stays,
 * but for `missed` jobs and what has come to lie outside. One that starts too far ahead to be sent is moved there. One
 * topic's trouble is its own.
 */
export async function shape(
  ctx: Context,
  homes: readonly Home[],
  missed: ReadonlySet<string>,
): Promise<Shaped> {
  const shaped: Shaped = { going: [], failed: new Map() };
  for (const [topic, jobs] of Map.groupBy(homes, (home) => home.topic)) {
    let open = new Set(jobs);
    try {
      const policy = policyOf(ctx, topic);
      const now = ctx.clock();
      open = new Set(jobs.filter((home) => isFree(policy, home, missed.has(home.id), now)));
      if (open.size > 0) await giveStarts(ctx, topic, [...open], shaped);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(messageOf(error));
      for (const { id } of open) shaped.failed.set(id, failure);
    }
    shaped.going.push(...jobs.filter((home) => !open.has(home)));
  }
  return shaped;
}

/** Whether a job is to be given a start, or another. */
function isFree({ maxPerSecond, window }: TopicPolicy, home: Home, isMissed: boolean, now: number): boolean {
  // A crashed run is sent to be settled, not to be run.
  if (home.state !== "scheduled") return false;
  if (maxPerSecond !== undefined && (home.heldUntil === undefined || isMissed)) return true;
  const start = Math.max(startsAt(home), now);
  return nextOpening(window, start) > start;
}

async function giveStarts(
  ctx: Context,
  topic: string,
  free: readonly Home[],
  { going, failed }: Shaped,
): Promise<void> {
  const holds = await book(ctx, topic, free);
  const booked = new Set(holds.map(({ home }) => home));
  // Their window has opened since they were looked at.
  going.push(...free.filter((home) => !booked.has(home)));
  const now = ctx.clock();
  // What nothing holds is as far ahead as its sender chose.
  const isGoing = ({ from, until }: Hold): boolean => until <= from || isNear(until, now);
  const near = holds.filter(isGoing);
  const far = holds.filter((one) => !isGoing(one));
  const outcomes = [...(await noteStarts(ctx, near)), ...(await moveHeld(ctx, far))];
  for (const [i, { home }] of [...near, ...far].entries()) {
    const held = outcomes[i];
    if (held instanceof Error) failed.set(home.id, held);
    // Another's start serves as well, but for one that has passed when the window has shut.
    else if (held && isShut(ctx, held)) failed.set(home.id, new Error("its window has shut since its start"));
    // Looked at after the writes: meanwhile a sweep may have passed the place of what was far.
    else if (held && (i < near.length || isNear(startsAt(held), ctx.clock()))) going.push(held);
  }
  if (far.length > 0) ctx.report({ type: "deferred", topic, jobs: far.length });
}

/** Whether a job that would start now, or when it may, would start outside its topic's window. */
function isShut(ctx: Context, home: Home): boolean {
  const start = Math.max(startsAt(home), ctx.clock());
  return openingOf(ctx, home.topic, start) > start;
}

/** When a topic's window lets a job start that may at `time`: ms since the epoch. */
export function openingOf(ctx: Context, topic: string, time: number): number {
  return nextOpening(policyOf(ctx, topic).window, time);
}

/** The starts of one topic's jobs: booked where it has a limit, else of those alone that would start outside its window. */
export async function book(ctx: Context, topic: string, jobs: readonly Home[]): Promise<Hold[]> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  const now = ctx.clock();
  const wanted = jobs.map((home) => Math.max(startsAt(home), now));
  const starts =
    maxPerSecond === undefined
      ? wanted.map((start) => nextOpening(window, start))
      : await bookStarts(ctx, topic, maxPerSecond, wanted, window);
  // A late job waits for its turn from now on; what came before is another's fault.
  const holds = jobs.map((home, i) => ({ home, from: Math.max(home.dueAt, now), until: starts[i] ?? now }));
  return maxPerSecond === undefined ? holds.filter(({ from, until }) => until > from) : holds;
}
