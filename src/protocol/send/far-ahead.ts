import { PROMOTE_BEFORE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import type { Head } from "../../core/items.ts";
import { inParallel } from "../../general/batches.ts";
import { isFar } from "../policy.ts";
import type { Context } from "../ports.ts";

const SCHEDULES_AT_ONCE = 16;
/** After this time a call begins nothing more at Scheduler: ms. */
const PATIENCE = 5000;

/**
 * Brings the schedules of jobs in step with their homes, once these are written: docs/internals/decisions/far-jobs.md. Never throws, because the
 * sweep sends every job in any case. After the first failure, or after `PATIENCE`, the other schedules are left as they are.
 */
export async function syncPromotions(ctx: Context, homes: readonly Head[]): Promise<void> {
  const { promotions } = ctx;
  if (promotions === undefined) return;
  const until = ctx.clock() + PATIENCE;
  let failed = false;
  const scheduled = homes.filter(({ hasSchedule }) => hasSchedule);
  await inParallel(scheduled, SCHEDULES_AT_ONCE, async ({ id, topic, state, dueAt }) => {
    if (failed) return;
    try {
      if (ctx.clock() > until) throw new Error("Scheduler takes too long for so many schedules");
      if (state === "scheduled" && isFar(ctx, dueAt)) await promotions.put(id, dueAt - PROMOTE_BEFORE);
      else await promotions.remove(id);
    } catch (error) {
      if (failed) return;
      failed = true;
      ctx.report({ type: "trouble", topic, what: "keeping schedules in step", error: messageOf(error) });
    }
  });
}
