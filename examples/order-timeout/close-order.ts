import { consumer } from "minutehand/consumer";
import { shop } from "../shop.ts";
import type { Topics } from "../topics.ts";

/** Closes an order that was not paid in time. The handler may run twice for one job, so closing an order twice must do no harm. */
export const handler = consumer<Topics, "order-timeout">(async ({ body, signal }) => {
  await shop.closeUnlessPaid(body.orderId, signal);
});
