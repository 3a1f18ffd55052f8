import { randomUUID } from "node:crypto";
import {
  CreateScheduleGroupCommand,
  DeleteScheduleGroupCommand,
  type SchedulerClient,
} from "@aws-sdk/client-scheduler";
import { startSchedulerEndpoint } from "../../local/services/scheduler-endpoint.ts";
import type { ScheduleTarget } from "../../src/aws/schedule-target.ts";
import { type Emulator, elsewhere, useEndpoint } from "./emulators.ts";

/** Starts the local stack's emulator of EventBridge Scheduler. */
async function startScheduler(): Promise<Emulator> {
  if (elsewhere) return { endpoint: elsewhere, close: async () => {} };
  const { url, stop } = await startSchedulerEndpoint();
  return { endpoint: url, close: stop };
}

/**
 * Creates a schedule group for one suite. The function and the role of its target need not exist, because the suites never wait until
 * a schedule fires.
 */
export async function openGroup(clientOf: () => SchedulerClient): Promise<{
  client: SchedulerClient;
  target: ScheduleTarget;
  close(): Promise<void>;
}> {
  const emulator = await startScheduler();
  useEndpoint("SCHEDULER", emulator.endpoint);
  const client = clientOf();
  const group = `contract-${randomUUID().slice(0, 8)}`;
  await client.send(new CreateScheduleGroupCommand({ Name: group }));
  const target = {
    group,
    target: "arn:aws:lambda:us-east-1:000000000000:function:contract",
    role: "arn:aws:iam::000000000000:role/contract",
  };
  return {
    client,
    target,
    async close() {
      await client.send(new DeleteScheduleGroupCommand({ Name: group }));
      client.destroy();
      await emulator.close();
    },
  };
}
