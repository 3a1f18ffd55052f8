import { GetScheduleCommand, ResourceNotFoundException } from "@aws-sdk/client-scheduler";
import { promotionsClient } from "../../aws/clients.ts";
import { schedulerPromotions } from "../../aws/promotions.ts";
import { promotionsContract } from "../contract/promotions-contract.ts";
import { openGroup } from "./scheduler-group.ts";

promotionsContract("on EventBridge Scheduler", async () => {
  const { client, target, close } = await openGroup(promotionsClient);
  return {
    promotions: schedulerPromotions({ client, target }),
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
