import type { Client, Job } from "minutehand/client";
import type { Topics } from "../topics.ts";

/** Tells a merchant's server that an order is paid. The topic retries the call by its backoff until the server answers with a 2xx. */
export function notifyMerchant(
  queue: Client<Topics>,
  payment: Topics["payment-notice"],
  callbackUrl: string,
): Promise<Job> {
  return queue.enqueue("payment-notice", payment, { delay: 0, key: payment.orderId, callbackUrl });
}
