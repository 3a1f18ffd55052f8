import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { afterEach, beforeEach } from "vitest";
import {
  type SchedulerEndpoint,
  startSchedulerEndpoint,
} from "../../../local/services/scheduler-endpoint.ts";
import { fakeClock } from "./fake-clock.ts";

type Opened = { clock: ReturnType<typeof fakeClock>; endpoint: SchedulerEndpoint; client: SchedulerClient };

/** A Scheduler of its own for each test of a file, whose clock begins at `start` (ms since the epoch), and a client. */
export function schedulerForEach(start: number): Opened {
  const opened = {} as Opened;
  beforeEach(async () => {
    opened.clock = fakeClock(start);
    opened.endpoint = await startSchedulerEndpoint({ clock: opened.clock });
    opened.client = new SchedulerClient({
      endpoint: opened.endpoint.url,
      region: "us-east-1",
      credentials: { accessKeyId: "a", secretAccessKey: "b" },
    });
  });
  afterEach(async () => {
    opened.client.destroy();
    await opened.endpoint.stop();
  });
  return opened;
}
