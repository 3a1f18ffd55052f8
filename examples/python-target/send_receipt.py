"""Runs the jobs of the topic `receipt` as a plain Lambda function. Its answer decides what happens to the job."""


def handler(job, context):
    order = job["body"]
    if order.get("state") == "refunded":
        return {"bury": f"order {order['orderId']} was refunded"}
    if order.get("state") == "unpaid":
        return {"retryIn": "10m"}
    if order["cents"] <= 0:
        raise ValueError(f"an order must cost more than 0 cents, costs {order['cents']}")
    print(f"receipt of order {order['orderId']}: {order['cents']} cents, attempt {job['attempt']}")
