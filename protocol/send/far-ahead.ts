import { PROMOTE_BEFORE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import type { Head } from "../../core/items.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";

const WIDTH = 16;
/** How long a call waits for Scheduler, in ms, however many jobs it names. */
const PATIENCE = 5000;

/** Whether a job that is due then is to have a schedule that promotes it. */
export function isFar(ctx: Context, dueAt: number): boolean {
  const { longDelay } = ctx.policy;
  return ctx.promotions !== undefined && longDelay !== undefined && dueAt - ctx.clock() > longDelay * 1000;
}

/**
 * Brings the schedules of jobs in step with their homes, which are written before: far ones get or keep one, others
 * lose theirs. A home that never had one is passed over, untracked ones among them: they have no claim, so that a
 * message of the schedule and one of the sweep would run them twice. Whatever Scheduler does is no error, as the sweep
 * carries every job: after the first failure, or when it takes long, it is left alone.
 */
export async function keepPromotions(ctx: Context, homes: readonly Head[]): Promise<void> {
  const { promotions } = ctx;
  if (promotions === undefined) return;
  const until = ctx.clock() + PATIENCE;
  let failed = false;
  await inParallel(
    homes.filter(({ hasSchedule }) => hasSchedule),
    WIDTH,
    async (home) => {
      if (failed) return;
      try {
        if (ctx.clock() > until) throw new Error("Scheduler takes too long for so many");
        if (home.state === "scheduled" && isFar(ctx, home.dueAt)) {
          await promotions.put(home.id, home.dueAt - PROMOTE_BEFORE);
        } else await promotions.remove(home.id);
      } catch (error) {
        if (failed) return;
        failed = true;
        ctx.report({
          type: "trouble",
          topic: home.topic,
          what: "keeping schedules in step",
          error: messageOf(error),
        });
      }
    },
  );
}
