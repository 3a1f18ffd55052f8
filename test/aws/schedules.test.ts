import { GetScheduleCommand } from "@aws-sdk/client-scheduler";
import { schedulerClient } from "../../src/aws/scheduler-client.ts";
import { createScheduler } from "../../src/environment/scheduler.ts";
import type { Schedules } from "../../src/protocol/ports.ts";
import { schedulesContract } from "../contract/schedules-contract.ts";
import { openGroup } from "./scheduler-group.ts";

schedulesContract("on EventBridge Scheduler", async () => {
  const { client, target, close } = await openGroup(schedulerClient);
  return {
    schedules: createScheduler({ MINUTEHAND_SCHEDULES: JSON.stringify(target) }).schedules as Schedules,
    now: () => Date.now(),
    async inputOf(name, time) {
      const { Target } = await client.send(new GetScheduleCommand({ GroupName: target.group, Name: name }));
      const at = new Date(time).toISOString().replace(".000Z", "Z");
      return JSON.parse((Target?.Input ?? "").replaceAll("<aws.scheduler.scheduled-time>", at));
    },
    close,
  };
});
