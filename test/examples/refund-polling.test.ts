import { expect, test } from "vitest";
import { pollRefund } from "../../examples/refund-polling/start-refund.ts";
import { exampleQueue } from "./queue.ts";
import { openShop } from "./shop-server.ts";

test("the state of a refund is asked for every 10 minutes until it settles, and this counts as one attempt", async () => {
  const shop = await openShop();
  shop.answer("/refunds/r-1", { state: "pending" });
  const queue = exampleQueue();
  const { id } = await pollRefund(queue.client, "r-1");
  await queue.advance("1h");
  expect(shop.calls).toEqual(Array(6).fill("/refunds/r-1"));
  shop.answer("/refunds/r-1", { state: "settled" });
  await queue.advance("1h");
  expect(shop.calls).toHaveLength(7);
  expect(await queue.client.get(id)).toMatchObject({ state: "done", attempt: 1 });
});

test("a refund that never settles is given up after three days", async () => {
  const shop = await openShop();
  shop.answer("/refunds/r-1", { state: "pending" });
  const queue = exampleQueue();
  const { id } = await pollRefund(queue.client, "r-1");
  await queue.advance("4d");
  expect(await queue.client.get(id)).toMatchObject({ state: "expired" });
  expect(shop.calls).toHaveLength((3 * 24 * 60) / 10 + 1);
});

test("a refund that is refused is dead at once, for somebody to look at", async () => {
  const shop = await openShop();
  shop.answer("/refunds/r-1", { state: "refused" });
  const queue = exampleQueue();
  const { id } = await pollRefund(queue.client, "r-1");
  await queue.advance("10m");
  const state = { state: "dead", attempt: 1, lastError: "refund r-1 was refused" };
  expect(await queue.client.get(id)).toMatchObject(state);
});
