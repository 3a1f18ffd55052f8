import { consumer } from "minutehand/consumer";
import { shop } from "../shop.ts";
import type { Topics } from "../topics.ts";

/** Closes an order that nobody paid in time. The queue runs it at least once, so closing twice must do no harm. */
export const handler = consumer<Topics["order-timeout"]>(async ({ body, signal }) => {
  await shop.closeUnlessPaid(body.orderId, signal);
});
