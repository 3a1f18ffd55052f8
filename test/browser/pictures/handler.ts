import { setTimeout as sleep } from "node:timers/promises";
import { consumer } from "../../../src/consumer/consumer.ts";

const REFUSALS = [
  "the bank answered 503 Service Unavailable",
  "the bank answered 503 Service Unavailable",
  "a refund of 25.00 EUR is more than the payment of 20.00 EUR",
];

/** Runs the jobs of the shop. Each refund fails. Another job says how long its run takes, in ms. */
export const handler = consumer<{ refundId?: string; takes?: number }>(async ({ body, signal }) => {
  await sleep(body.takes ?? 0, undefined, { signal });
  if (body.refundId !== undefined) throw new Error(REFUSALS[Number(body.refundId) % REFUSALS.length]);
});
