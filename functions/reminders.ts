import { setTimeout as sleep } from "node:timers/promises";
import { consumer, type Job } from "../consumer/consumer.ts";

/** Beside its text, a reminder may say how its run is to go, so that each way can be tried out. */
type Reminder = {
  text?: string;
  /** ms that the run takes. */
  takes?: number;
  /** Fails with these words, until the attempt `failsUntil` (always, if that is not said). */
  fails?: string;
  failsUntil?: number;
  /** Asks for another run after so long, until `retryUntil` (ISO 8601). */
  retryIn?: number | string;
  retryUntil?: string;
  /** Gives up for this reason. */
  bury?: string;
};

/** The app's example: logs each reminder when it is due. */
export const handler = consumer(async (job: Job<Reminder | null>) => {
  const { takes = 0, fails, failsUntil, retryIn, retryUntil = "", bury } = job.body ?? {};
  const { id, attempt } = job;
  console.log(JSON.stringify({ level: "INFO", message: "reminder", id, attempt, startedAt: Date.now() }));
  if (takes > 0) await sleep(takes, undefined, { signal: job.signal });
  if (bury !== undefined) return job.bury(bury);
  if (retryIn !== undefined && new Date().toISOString() < retryUntil) return job.retryIn(retryIn);
  if (fails !== undefined && (failsUntil === undefined || attempt < failsUntil)) throw new Error(fails);
});
