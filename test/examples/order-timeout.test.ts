import { expect, test } from "vitest";
import { closeLater } from "../../examples/order-timeout/place-order.ts";
import { exampleQueue } from "./queue.ts";
import { openShop } from "./shop-server.ts";

const PAID = { source: "shop", detailType: "OrderPaid", detail: { orderId: "17" } };
const CLOSE = "/orders/17/close-unless-paid";

test("an order that nobody pays is closed after 30 minutes", async () => {
  const shop = await openShop();
  shop.answer("/orders/17/close-unless-paid", { state: "closed" });
  const queue = exampleQueue();
  const { id } = await closeLater(queue.client, "17");
  await queue.advance("29m59s");
  expect(shop.calls).toEqual([]);
  await queue.advance("1s");
  expect(shop.calls).toEqual([CLOSE]);
  expect(await queue.client.get(id)).toMatchObject({ state: "done" });
});

test("an order that is paid is left alone, also when it is paid before the job is filed", async () => {
  const shop = await openShop();
  const queue = exampleQueue();
  const { id } = await closeLater(queue.client, "17");
  await queue.publish(PAID);
  expect(await queue.client.get(id)).toMatchObject({ state: "cancelled" });
  await queue.publish({ ...PAID, detail: { orderId: "18" } });
  expect(await closeLater(queue.client, "18")).toMatchObject({ state: "cancelled" });
  await queue.advance("1d");
  expect(shop.calls).toEqual([]);
});

test("a shop that is down for a while closes the order later", async () => {
  const shop = await openShop();
  const queue = exampleQueue();
  const { id } = await closeLater(queue.client, "17");
  await queue.advance("31m");
  expect(await queue.client.get(id)).toMatchObject({ attempt: 2, lastError: expect.stringContaining("503") });
  shop.answer("/orders/17/close-unless-paid", { state: "closed" });
  await queue.advance("1h");
  expect(await queue.client.get(id)).toMatchObject({ state: "done", attempt: 3 });
});
