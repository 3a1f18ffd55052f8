/** The type of the body of each topic's jobs. Code that enqueues another body does not compile. */
export type Topics = {
  "order-timeout": { orderId: string };
  refund: { refundId: string };
  "payment-notice": { orderId: string; amount: string };
  reminder: { shopId: string };
  thumbnail: { image: string; width: number };
  receipt: { orderId: string; cents: number; state?: "unpaid" | "refunded" };
};
