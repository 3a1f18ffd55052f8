import type { SQSBatchResponse, SQSRecord } from "aws-lambda";
import { eventsOn } from "../../src/consumer/apply-events.ts";
import type { EventRule } from "../../src/settings/event-rules.ts";
import type { World } from "./world.ts";

export const paid: EventRule = {
  topic: "orders",
  do: "cancel",
  source: "shop",
  detailType: "OrderPaid",
  key: "$.detail.orderId",
  tombstone: 300,
};

/** A message that EventBridge puts into the queue of events. `at`: ms since the epoch, which the message has in whole seconds. */
export function busEvent(at: number, more: object = {}): string {
  const time = new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
  const detail = { orderId: "order-1" };
  return JSON.stringify({ id: "e1", source: "shop", "detail-type": "OrderPaid", time, detail, ...more });
}

/** Invokes the function that applies events, with these bodies of messages. Answers the indices of the messages that stay. */
export async function deliver(
  world: World,
  rules: readonly EventRule[],
  bodies: readonly string[],
  receives = 1,
): Promise<number[]> {
  const Records = bodies.map((body, i) => {
    const attributes = { ApproximateReceiveCount: String(receives) };
    return { messageId: String(i), receiptHandle: `handle-${i}`, body, attributes } as SQSRecord;
  });
  const answer: SQSBatchResponse = await eventsOn(world.ctx, rules, () => {})({ Records });
  return answer.batchItemFailures.map(({ itemIdentifier }) => Number(itemIdentifier));
}
