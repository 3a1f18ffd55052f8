import type { Client, Job } from "minutehand/client";
import type { Topics } from "../topics.ts";

/** A refund that has not settled after three days is nobody's to ask for any more: its job expires. */
export function pollRefund(queue: Client<Topics>, refundId: string): Promise<Job> {
  return queue.enqueue("refund", { refundId }, { key: refundId, delay: "10m", expiresAfter: "3d" });
}
