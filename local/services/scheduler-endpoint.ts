import { startAwsEndpoint } from "./aws-endpoint.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { FiringOptions } from "./schedule-firing.ts";
import { type AwsLocation, createSchedulerService } from "./scheduler.ts";

type Options = Partial<AwsLocation> &
  Partial<Omit<FiringOptions, "store">> & {
    readonly file?: string;
  };

export type SchedulerEndpoint = { readonly url: string; readonly stop: () => Promise<void> };

/** Serves EventBridge Scheduler alone, for tests, on a free port of loopback. Without `invoke` every attempt succeeds. */
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
