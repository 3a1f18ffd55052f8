"""Runs the jobs of a topic as a plain Lambda function, without a package of Minutehand:

    queue.addTarget("receipt", new Function(stack, "SendReceipt", {
      runtime: Runtime.PYTHON_3_13, handler: "send_receipt.handler", code: Code.fromAsset("python-target"),
    }));
"""


def handler(job, context):
    order = job["body"]
    if order.get("state") == "refunded":
        return {"bury": f"order {order['orderId']} was refunded"}
    if order.get("state") == "unpaid":
        return {"retryIn": "10m"}
    if order["cents"] <= 0:
        raise ValueError(f"an order must cost more than 0 cents, costs {order['cents']}")
    print(f"receipt of order {order['orderId']}: {order['cents']} cents, attempt {job['attempt']}")
