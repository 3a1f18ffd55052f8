import type { Client, Job } from "minutehand/client";
import type { Topics } from "../topics.ts";

/** Files the job that closes an order after 30 minutes. If the order is paid, the event OrderPaid cancels the job by its key. */
export function closeLater(queue: Client<Topics>, orderId: string): Promise<Job> {
  return queue.enqueue("order-timeout", { orderId }, { key: orderId, delay: "30m", onDuplicate: "keep" });
}
