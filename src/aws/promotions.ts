import {
  ConflictException,
  CreateScheduleCommand,
  DeleteScheduleCommand,
  ResourceNotFoundException,
  type SchedulerClient,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import { BUCKET, PROMOTE_BEFORE } from "../core/constants.ts";
import type { Promotions } from "../protocol/ports.ts";
import type { ScheduleTarget } from "./schedule-target.ts";

/** How long Scheduler tries to start a promotion, in seconds: until a minute after the job is due. By then the sweep has sent the job. */
const USEFUL_FOR = (PROMOTE_BEFORE + BUCKET) / 1000;

/** One-time schedules, in a group that holds nothing else. */
export function schedulerPromotions(settings: {
  client: SchedulerClient;
  target: ScheduleTarget;
}): Promotions {
  const { client, target } = settings;
  return {
    async put(id, time) {
      const schedule = {
        GroupName: target.group,
        Name: id,
        ScheduleExpression: `at(${new Date(time).toISOString().slice(0, 19)})`,
        ScheduleExpressionTimezone: "UTC",
        FlexibleTimeWindow: { Mode: "OFF" as const },
        // rule: fired-schedule-is-deleted
        ActionAfterCompletion: "DELETE" as const,
        Target: {
          Arn: target.target,
          RoleArn: target.role,
          Input: JSON.stringify({ id }),
          RetryPolicy: { MaximumEventAgeInSeconds: USEFUL_FOR },
        },
      };
      try {
        await client.send(new CreateScheduleCommand(schedule));
      } catch (thrown) {
        // An earlier try has created it, or it still has the time before a move.
        if (!(thrown instanceof ConflictException)) throw thrown;
        await client.send(new UpdateScheduleCommand(schedule));
      }
    },

    async remove(id) {
      try {
        await client.send(new DeleteScheduleCommand({ GroupName: target.group, Name: id }));
      } catch (thrown) {
        if (!(thrown instanceof ResourceNotFoundException)) throw thrown;
      }
    },
  };
}
