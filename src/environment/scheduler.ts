import type { ScheduleTarget } from "../aws/schedule-target.ts";
import { onFirstUse } from "../general/on-first-use.ts";
import type { Context, Promotions, Schedules } from "../protocol/ports.ts";
import type { Environment } from "./context.ts";

/** Each port is there only if the environment names its target. */
export function createScheduler(
  environment: Environment = process.env,
): Pick<Context, "promotions" | "schedules"> {
  const promotions = targetIn(environment, "MINUTEHAND_PROMOTIONS");
  const schedules = targetIn(environment, "MINUTEHAND_SCHEDULES");
  return {
    ...(promotions && { promotions: lazyPromotions(promotions) }),
    ...(schedules && { schedules: lazySchedules(schedules) }),
  };
}

function targetIn(environment: Environment, name: string): ScheduleTarget | undefined {
  const value = environment[name];
  return value === undefined || value === "" ? undefined : (JSON.parse(value) as ScheduleTarget);
}

/** Few jobs are far ahead, so the client is loaded on first use. */
function lazyPromotions(target: ScheduleTarget): Promotions {
  const loaded = onFirstUse(async () => {
    const [{ promotionsClient }, { schedulerPromotions }] = await Promise.all([
      import("../aws/scheduler-client.ts"),
      import("../aws/promotions.ts"),
    ]);
    return schedulerPromotions({ client: promotionsClient(), target });
  });
  return {
    put: async (id, time) => (await loaded()).put(id, time),
    remove: async (id) => (await loaded()).remove(id),
  };
}

function lazySchedules(target: ScheduleTarget): Schedules {
  const loaded = onFirstUse(async () => {
    const [{ schedulerClient }, { schedulerSchedules }] = await Promise.all([
      import("../aws/scheduler-client.ts"),
      import("../aws/schedules.ts"),
    ]);
    return schedulerSchedules({ client: schedulerClient(), target });
  });
  return {
    create: async (schedule, from) => (await loaded()).create(schedule, from),
    update: async (schedule, from) => (await loaded()).update(schedule, from),
    read: async (name) => (await loaded()).read(name),
    remove: async (name) => (await loaded()).remove(name),
    list: async (limit, cursor) => (await loaded()).list(limit, cursor),
  };
}
