import { messageOf } from "../core/errors.ts";
import { isNear, startsAt } from "../core/home.ts";
import type { Home } from "../core/items.ts";
import { bookStarts } from "./book-starts.ts";
import { type Hold, moveHeld, noteStarts } from "./hold.ts";
import { policyOf } from "./policy.ts";
import type { Context } from "./ports.ts";

/** Jobs as a limit lets them: those to send now, each saying when it starts, and those it could not settle. */
export type Shaped = { going: Home[]; failed: Map<string, Error> };

/**
 * Gives the jobs of limited topics their starts, at most `maxPerSecond` in a second, whoever hands them over, and notes
 * them in their homes; a start once given stays, but for `missed` jobs. One that starts too far ahead to be sent is
 * moved there. One topic's trouble is its own.
 */
export async function shape(
  ctx: Context,
  homes: readonly Home[],
  missed: ReadonlySet<string>,
): Promise<Shaped> {
  const shaped: Shaped = { going: [], failed: new Map() };
  for (const [topic, jobs] of Map.groupBy(homes, (home) => home.topic)) {
    // A crashed run is sent to be settled, not to be run.
    const isFree = ({ id, state, heldUntil }: Home): boolean =>
      state === "scheduled" && (heldUntil === undefined || missed.has(id));
    const free = policyOf(ctx, topic).maxPerSecond === undefined ? [] : jobs.filter(isFree);
    shaped.going.push(...(free.length === 0 ? jobs : jobs.filter((home) => !isFree(home))));
    if (free.length === 0) continue;
    try {
      await giveStarts(ctx, topic, free, shaped);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(messageOf(error));
      for (const { id } of free) shaped.failed.set(id, failure);
    }
  }
  return shaped;
}

async function giveStarts(
  ctx: Context,
  topic: string,
  free: readonly Home[],
  { going, failed }: Shaped,
): Promise<void> {
  const holds = await book(ctx, topic, free);
  const now = ctx.clock();
  // What the limit does not hold is as far ahead as its sender chose.
  const isGoing = ({ from, until }: Hold): boolean => until <= from || isNear(until, now);
  const near = holds.filter(isGoing);
  const far = holds.filter((one) => !isGoing(one));
  const outcomes = [...(await noteStarts(ctx, near)), ...(await moveHeld(ctx, far))];
  for (const [i, { home }] of [...near, ...far].entries()) {
    const held = outcomes[i];
    if (held instanceof Error) failed.set(home.id, held);
    // Looked at after the writes: meanwhile a sweep may have passed the place of what was far.
    else if (held && (i < near.length || isNear(startsAt(held), ctx.clock()))) going.push(held);
  }
  if (far.length > 0) ctx.report({ type: "deferred", topic, jobs: far.length });
}

/** Books the starts of one topic's jobs; none if it has no limit. */
export async function book(ctx: Context, topic: string, jobs: readonly Home[]): Promise<Hold[]> {
  const { maxPerSecond } = policyOf(ctx, topic);
  if (maxPerSecond === undefined) return [];
  const now = ctx.clock();
  // A late job waits for its limit from now on; what came before is another's fault.
  const wanted = jobs.map((home) => Math.max(home.dueAt, now));
  const starts = await bookStarts(ctx, topic, maxPerSecond, wanted);
  return jobs.map((home, i) => ({ home, from: wanted[i] ?? now, until: starts[i] ?? now }));
}
