import {
  ConflictException,
  CreateScheduleCommand,
  DeleteScheduleCommand,
  ResourceNotFoundException,
  type SchedulerClient,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import type { Promotions } from "../protocol/ports.ts";
import type { ScheduleTarget } from "./schedule-target.ts";

/** In seconds. By then the sweep has passed the job. */
const USEFUL_FOR = 300;

/** The one-time schedules on EventBridge Scheduler, in a group of their own. */
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
        // One's own earlier effect, or the job was moved.
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
