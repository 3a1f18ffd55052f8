/** The URL of a call of the shop's own service, which owns the orders, refunds and mails. */
const url = (path: string): string => new URL(path, process.env.SHOP_URL ?? "http://127.0.0.1:4600").href;

async function call<T>(method: "GET" | "POST", path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(url(path), { method, ...(signal && { signal }) });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}`);
  return (await response.json()) as T;
}

export const shop = {
  /** Closes an order unless it is paid. The service does both in one transaction, so a payment at that moment counts. */
  closeUnlessPaid: (orderId: string, signal?: AbortSignal) =>
    call<{ state: "closed" | "paid" }>("POST", `/orders/${orderId}/close-unless-paid`, signal),
  refund: (refundId: string, signal?: AbortSignal) =>
    call<{ state: "pending" | "settled" | "refused" }>("GET", `/refunds/${refundId}`, signal),
  sendReminder: (shopId: string, signal?: AbortSignal) =>
    call<{ sent: boolean }>("POST", `/shops/${shopId}/reminders`, signal),
};
