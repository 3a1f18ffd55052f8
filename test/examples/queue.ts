import { createTestQueue, type Receiver, type TestQueue } from "minutehand/testing";
import { handler as closeOrder } from "../../examples/order-timeout/close-order.ts";
import { handler as askForRefund } from "../../examples/refund-polling/ask-for-refund.ts";
import { handler as remindOwner } from "../../examples/reminder/remind-owner.ts";
import type { Topics } from "../../examples/topics.ts";

/** The examples' topics with their own handlers. `receiver` stands for the merchant's server. */
export function exampleQueue(receiver: Receiver = () => ({ status: 204, body: "" })): TestQueue<Topics> {
  return createTestQueue<Topics>({
    topics: {
      "order-timeout": {
        handler: closeOrder,
        cancelOn: { source: "shop", detailType: "OrderPaid", key: "$.detail.orderId" },
      },
      refund: { handler: askForRefund },
      "payment-notice": { webhook: {}, receiver },
      reminder: { handler: remindOwner },
      thumbnail: { consumer: "pull" },
      // The test kit runs no Python. `test/local/targets.test.ts` runs it.
      receipt: { consumer: "pull" },
    },
  });
}
