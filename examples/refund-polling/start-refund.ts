import type { Client, Job } from "minutehand/client";
import type { Topics } from "../topics.ts";

/** Files the job that checks a refund. The job expires three days after its first due time, even if the refund has not settled. */
export function pollRefund(queue: Client<Topics>, refundId: string): Promise<Job> {
  return queue.enqueue("refund", { refundId }, { key: refundId, delay: "10m", expiresAfter: "3d" });
}
