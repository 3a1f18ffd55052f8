import { PROMOTE_BEFORE } from "../../core/constants.ts";
import { asError, messageOf } from "../../core/errors.ts";
import type { Head } from "../../core/home.ts";
import { inParallel } from "../../general/batches.ts";
import { isFar } from "../policy.ts";
import type { Context } from "../ports.ts";
import { bookSchedules } from "./book-schedules.ts";

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
  const scheduled = homes.filter(({ hasSchedule }) => hasSchedule);
  const far = scheduled.filter(({ state, dueAt }) => state === "scheduled" && isFar(ctx, dueAt));
  const booked = far.length === 0 ? 0 : await bookSchedules(ctx, far.length, until).catch(asError);
  if (booked instanceof Error) return reportTrouble(ctx, far[0]?.topic ?? "", booked);
  const [toPut, unbooked] = [new Set(far.slice(0, booked)), new Set(far.slice(booked))];
  if (unbooked.size > 0) ctx.report({ type: "unscheduled", jobs: unbooked.size });
  // An unbooked job may have a schedule of an earlier time: when that one fires, `promote` does nothing.
  const changed = scheduled.filter((home) => !unbooked.has(home));
  let failed = false;
  await inParallel(changed, SCHEDULES_AT_ONCE, async (home) => {
    if (failed) return;
    try {
      if (ctx.clock() > until) throw new Error("Scheduler takes too long for so many schedules");
      if (toPut.has(home)) await promotions.put(home.id, home.dueAt - PROMOTE_BEFORE);
      else await promotions.remove(home.id);
    } catch (error) {
      if (failed) return;
      failed = true;
      reportTrouble(ctx, home.topic, error);
    }
  });
}

function reportTrouble(ctx: Context, topic: string, error: unknown): void {
  ctx.report({ type: "trouble", topic, what: "keeping schedules in step", error: messageOf(error) });
}
