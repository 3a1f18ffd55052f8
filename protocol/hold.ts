import { STALE_AFTER, WRITER_DEADLINE } from "../core/constants.ts";
import { type Home, homeKey, ttl } from "../core/items.ts";
import { fileLooks } from "./looks.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";

/** A waiting job, and when it may start: ms since the epoch. */
export type Hold = { readonly home: Home; readonly start: number };

/**
 * Moves waiting jobs to later starts, many at once: they stay due when they were, so that anybody can see how long they
 * are held. As in any move the looks stand before the homes say so, and the caller looks at the clock after. Answers
 * each one's home as it is then, `undefined` for one that is no longer as read, or what kept it unknown.
 */
export async function holdUntil(ctx: Context, holds: readonly Hold[]): Promise<(Home | undefined | Error)[]> {
  const by = ctx.clock() + WRITER_DEADLINE;
  await fileLooks(
    ctx,
    holds.map(({ home, start }) => ({ id: home.id, time: start })),
    by,
  );
  const changes = holds.map(({ home, start }) => ({
    key: homeKey(home.id),
    expect: { state: "scheduled", revision: home.revision },
    set: {
      revision: home.revision + 1,
      heldUntil: start,
      ...(home.untracked ? { expiresAt: ttl(start + STALE_AFTER) } : {}),
    },
  }));
  const outcomes = await ctx.pool.changeMany(changes, by);
  const refused = holds.filter((_, i) => outcomes[i] === "refused");
  const found = await readHomes(
    ctx,
    refused.map(({ home }) => home.id),
  );
  return holds.map((hold, i) => {
    const outcome = outcomes[i] ?? new Error("no answer");
    if (outcome instanceof Error) return outcome;
    const held = { ...hold.home, ...changes[i]?.set };
    if (outcome === "changed") return held;
    // A repeat after a lost answer finds its own work.
    const stands = found[refused.indexOf(hold)];
    return stands?.revision === held.revision && stands.heldUntil === hold.start ? stands : undefined;
  });
}
