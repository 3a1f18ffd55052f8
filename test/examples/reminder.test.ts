import { expect, test } from "vitest";
import { remindAfterAWeek } from "../../examples/reminder/visit.ts";
import { exampleQueue } from "./queue.ts";
import { openShop } from "./shop-server.ts";

const REMINDER = "/shops/7/reminders";

test("an owner who stays away for a week is reminded once", async () => {
  const shop = await openShop();
  shop.answer("/shops/7/reminders", { sent: true });
  const queue = exampleQueue();
  await remindAfterAWeek(queue.client, "7");
  await queue.advance("3d");
  await remindAfterAWeek(queue.client, "7");
  await queue.advance("6d23h");
  expect(shop.calls).toEqual([]);
  await queue.advance("30d");
  expect(shop.calls).toEqual([REMINDER]);
});

test("an owner who looks in daily is reminded after a month all the same", async () => {
  const shop = await openShop();
  shop.answer("/shops/7/reminders", { sent: true });
  const queue = exampleQueue();
  for (let day = 0; day < 30; day++) {
    expect(shop.calls).toEqual([]);
    await remindAfterAWeek(queue.client, "7");
    await queue.advance("1d");
  }
  expect(shop.calls).toEqual([REMINDER]);
});
