import { setTimeout as sleep } from "node:timers/promises";
import { consumer, type Job } from "../consumer/consumer.ts";

/** Beside its text, a reminder may say how its run ends, so that you can try out each end. */
type Reminder = {
  text?: string;
  /** How long the run takes, in ms. */
  takes?: number;
  /** Fails with this error before attempt `failsUntil`. Without `failsUntil` each attempt fails. */
  fails?: string;
  failsUntil?: number;
  /** Asks for another run after this duration, if the time is before `retryUntil` (ISO 8601). Has no effect without `retryUntil`. */
  retryIn?: number | string;
  retryUntil?: string;
  /** Buries the job for this reason. */
  bury?: string;
};

/** Runs the example topic of reminders: logs each reminder when it is due. */
export const handler = consumer(async (job: Job<Reminder | null>) => {
  const { takes = 0, fails, failsUntil, retryIn, retryUntil = "", bury } = job.body ?? {};
  const { id, attempt } = job;
  console.log(JSON.stringify({ level: "INFO", message: "reminder", id, attempt, startedAt: Date.now() }));
  if (takes > 0) await sleep(takes, undefined, { signal: job.signal });
  if (bury !== undefined) return job.bury(bury);
  if (retryIn !== undefined && new Date().toISOString() < retryUntil) return job.retryIn(retryIn);
  if (fails !== undefined && (failsUntil === undefined || attempt < failsUntil)) throw new Error(fails);
});
