import { setTimeout as sleep } from "node:timers/promises";
import { consumer, type Duration, type Job } from "../src/consumer/consumer.ts";

/** A reminder may say how its run ends, so that you can try out each end. */
type Reminder = {
  text?: string;
  /** ms. */
  takes?: number;
  /** Without `failsUntil` each attempt fails. */
  fails?: string;
  failsUntil?: number;
  /** If the time is before `retryUntil` (ISO 8601). */
  retryIn?: Duration;
  retryUntil?: string;
  bury?: string;
};

export const handler = consumer(async (job: Job<Reminder | null>) => {
  const { takes = 0, fails, failsUntil, retryIn, retryUntil = "", bury } = job.body ?? {};
  const { id, attempt } = job;
  console.log(JSON.stringify({ level: "INFO", message: "reminder", id, attempt, startedAt: Date.now() }));
  if (takes > 0) await sleep(takes, undefined, { signal: job.signal });
  if (bury !== undefined) return job.bury(bury);
  if (retryIn !== undefined && Date.now() < Date.parse(retryUntil)) return job.retryIn(retryIn);
  if (fails !== undefined && (failsUntil === undefined || attempt < failsUntil)) throw new Error(fails);
});
