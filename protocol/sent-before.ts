import { type Home, parkedKey } from "../core/items.ts";
import { type Backlogs, backlogsOf } from "./backlog.ts";
import { isStartAhead, type Looks } from "./limit.ts";
import { isLimited } from "./policy.ts";
import type { Context } from "./ports.ts";

/**
 * What became of jobs of limited topics that are looked at later than they were to start: somebody has handed each over, or
 * parked it. Where its note is not there and its topic's consumers are behind, it lies in its queue. Else its message was
 * lost, or never sent, and it needs another start.
 */
export async function sentBefore(
  ctx: Context,
  homes: readonly Home[],
  backlogs: Backlogs = backlogsOf(ctx),
): Promise<Looks> {
  const now = ctx.clock();
  const asked = homes.filter((home) => isLimited(ctx, home.topic) && !isStartAhead(home, now));
  if (asked.length === 0) return NOTHING_KNOWN;
  const notes = await ctx.pool.read(asked.map(parkedKey));
  const parked = new Set(asked.filter((_, i) => notes[i]).map(({ id }) => id));
  const behind = new Set<string>();
  const others = asked.filter(({ id }) => !parked.has(id));
  for (const [topic, jobs] of Map.groupBy(others, (home) => home.topic))
    if (await backlogs(topic)) for (const { id } of jobs) behind.add(id);
  return { parked, behind };
}

const NOTHING_KNOWN: Looks = { parked: new Set(), behind: new Set() };
