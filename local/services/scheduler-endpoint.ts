import { startAwsEndpoint } from "./aws-endpoint.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { Surroundings } from "./schedule-firing.ts";
import { createSchedulerService, type Place } from "./scheduler.ts";

type Options = Partial<Place> &
  Partial<Omit<Surroundings, "book">> & {
    /** Where schedules are kept; absent: in memory. */
    readonly file?: string;
  };

export type SchedulerEndpoint = { readonly url: string; readonly stop: () => Promise<void> };

/** EventBridge Scheduler alone, on a free port of loopback. Without `invoke` its targets take whatever comes. */
export async function startSchedulerEndpoint(options: Options = {}): Promise<SchedulerEndpoint> {
  const clock: Clock = options.clock ?? systemClock;
  const { region = "us-east-1", account = "000000000000", file } = options;
  const scheduler = createSchedulerService({ region, account, file, clock });
  const { random = Math.random, invoke = async () => "done" as const, log = () => {} } = options;
  scheduler.start({ random, invoke, log });
  const endpoint = await startAwsEndpoint(scheduler.operations);
  return {
    url: endpoint.url,
    stop: async () => {
      await endpoint.stop();
      scheduler.close();
    },
  };
}
