import { GetScheduleCommand, ResourceNotFoundException } from "@aws-sdk/client-scheduler";
import { promotionsClient } from "../../src/aws/scheduler-client.ts";
import { createScheduler } from "../../src/environment/scheduler.ts";
import type { Promotions } from "../../src/protocol/ports.ts";
import { promotionsContract } from "../contract/promotions-contract.ts";
import { openGroup } from "./scheduler-group.ts";

promotionsContract("on EventBridge Scheduler", async () => {
  const { client, target, close } = await openGroup(promotionsClient);
  return {
    promotions: createScheduler({ MINUTEHAND_PROMOTIONS: JSON.stringify(target) }).promotions as Promotions,
    now: () => Date.now(),
    async filed(id) {
      try {
        const command = new GetScheduleCommand({ GroupName: target.group, Name: id });
        const { ScheduleExpression = "" } = await client.send(command);
        return Date.parse(`${ScheduleExpression.slice("at(".length, -1)}Z`);
      } catch (thrown) {
        if (thrown instanceof ResourceNotFoundException) return undefined;
        throw thrown;
      }
    },
    close,
  };
});
