import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { settings, withoutLogger } from "./clients.ts";

// Functions load this client only for a schedule or for a job far ahead.

/** ms. */
const PROMOTION_TIMEOUT = 2000;

export function schedulerClient(): SchedulerClient {
  return withoutLogger(new SchedulerClient(settings()));
}

/** Tries once and shortly, because the sweep sends a job that has no promotion. */
export function promotionsClient(): SchedulerClient {
  return withoutLogger(new SchedulerClient({ ...settings(PROMOTION_TIMEOUT), maxAttempts: 1 }));
}
