import { backlogsOf } from "../../src/protocol/hand-over/backlog.ts";
import { type Swept, sweepRest, sweepShard } from "../../src/protocol/hand-over/sweep.ts";
import type { Context } from "../../src/protocol/ports.ts";

/** Sweeps a shard as a tick with enough time does: first the new jobs, and then the overdue ones. */
export async function sweepAll(ctx: Context, shard: number, until: number): Promise<Swept> {
  const backlogs = backlogsOf(ctx);
  const swept = await sweepShard(ctx, shard, until, backlogs);
  return swept.outcome === "left" ? sweepRest(ctx, shard, swept.ranges, until, backlogs) : swept;
}
