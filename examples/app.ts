import { App, Stack } from "aws-cdk-lib";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { DelayQueue } from "minutehand/cdk";
import type { Topics } from "./topics.ts";

const app = new App();
const stack = new Stack(app, "Shop");
const environment = { SHOP_URL: process.env.SHOP_URL ?? "http://127.0.0.1:4600" };
const queue = new DelayQueue<Topics>(stack, "Jobs", {
  prefix: "shop",
  topics: {
    "order-timeout": { cancelOn: { source: "shop", detailType: "OrderPaid", key: "$.detail.orderId" } },
    refund: {},
    "payment-notice": { webhook: {} },
    reminder: {},
    thumbnail: { consumer: "pull" },
    receipt: {},
  },
});
queue.addHandler("order-timeout", "order-timeout/close-order.ts", { environment });
queue.addHandler("refund", "refund-polling/ask-for-refund.ts", { environment });
queue.addHandler("reminder", "reminder/remind-owner.ts", { environment });

const sendReceipt = new LambdaFunction(stack, "SendReceipt", {
  runtime: Runtime.PYTHON_3_13,
  handler: "send_receipt.handler",
  code: Code.fromAsset("python-target"),
});
queue.addTarget("receipt", sendReceipt);
