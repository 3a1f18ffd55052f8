import { GetScheduleCommand } from "@aws-sdk/client-scheduler";
import { schedulerClient } from "../../aws/clients.ts";
import { schedulerSchedules } from "../../aws/schedules.ts";
import { schedulesContract } from "../contract/schedules-contract.ts";
import { openGroup } from "./scheduler-group.ts";

schedulesContract("on EventBridge Scheduler", async () => {
  const { client, target, close } = await openGroup(schedulerClient);
  return {
    schedules: schedulerSchedules({ client, target }),
    now: () => Date.now(),
    async inputOf(name, time) {
      const { Target } = await client.send(new GetScheduleCommand({ GroupName: target.group, Name: name }));
      const at = new Date(time).toISOString().replace(".000Z", "Z");
      return JSON.parse((Target?.Input ?? "").replaceAll("<aws.scheduler.scheduled-time>", at));
    },
    close,
  };
});
