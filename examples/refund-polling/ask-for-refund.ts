import { consumer } from "minutehand/consumer";
import { shop } from "../shop.ts";
import type { Topics } from "../topics.ts";

/** Checks a refund every 10 minutes until it settles. `retryIn` is not a failure, so the run does not count as an attempt. */
export const handler = consumer<Topics, "refund">(async (job) => {
  const { state } = await shop.refund(job.body.refundId, job.signal);
  if (state === "pending") job.retryIn("10m");
  if (state === "refused") job.bury(`refund ${job.body.refundId} was refused`);
});
