import { promotionsClient, schedulerClient } from "../aws/clients.ts";
import { schedulerPromotions } from "../aws/promotions.ts";
import type { ScheduleTarget } from "../aws/schedule-target.ts";
import { schedulerSchedules } from "../aws/schedules.ts";
import type { Context } from "../protocol/ports.ts";
import type { Environment } from "./context.ts";

/** Makes the ports for promotions and recurring schedules on EventBridge Scheduler, each only if the environment names its target. */
export function createScheduler(
  environment: Environment = process.env,
): Pick<Context, "promotions" | "schedules"> {
  const promotions = targetIn(environment, "MINUTEHAND_PROMOTIONS");
  const schedules = targetIn(environment, "MINUTEHAND_SCHEDULES");
  return {
    ...(promotions && {
      promotions: schedulerPromotions({ client: promotionsClient(), target: promotions }),
    }),
    ...(schedules && { schedules: schedulerSchedules({ client: schedulerClient(), target: schedules }) }),
  };
}

function targetIn(environment: Environment, name: string): ScheduleTarget | undefined {
  const value = environment[name];
  return value === undefined || value === "" ? undefined : (JSON.parse(value) as ScheduleTarget);
}
