import { expect, vi } from "vitest";
import { createClient } from "../../../src/client/client.ts";
import { PATIENCE_MS } from "../../patience.ts";

const MINUTE = 60;

const order = (number: number) => ({ orderId: `${number}`, shop: "Berlin" });

const upcoming = Array.from({ length: 240 }, (_, index) => ({
  topic: index % 4 === 0 ? "reminder" : "order-timeout",
  key: `order-${1000 + index}`,
  body: order(1000 + index),
  // More of them in the next minutes than later.
  delay: Math.round(4 * MINUTE + ((index * index) / 240 ** 2) * 55 * MINUTE),
}));
const notices = Array.from({ length: 40 }, (_, index) => ({
  topic: "payment-notice",
  body: { ...order(2000 + index), amount: "25.00 EUR" },
  delay: 0,
}));
const done = Array.from({ length: 30 }, (_, index) => ({
  topic: "order-timeout",
  key: `order-${900 + index}`,
  body: { ...order(900 + index), takes: 20 },
  delay: index % 20,
}));
const refunds = Array.from({ length: 12 }, (_, index) => ({
  topic: "refund",
  key: `refund-${3000 + index}`,
  body: { refundId: `${3000 + index}`, amount: "25.00 EUR" },
  delay: 0,
}));
const thumbnails = Array.from({ length: 18 }, (_, index) => ({
  topic: "thumbnail",
  body: { image: `shoe-${index}.png`, width: 320 },
  delay: index * 40,
}));

/** Fills the queue of the shop with jobs of all states. Answers the ids of the jobs that pictures show. */
export async function fillShop(url: string): Promise<{ dead: string }> {
  const api = createClient({ url });
  await api.pause("reminder");
  await api.putSchedule("daily-report", {
    topic: "reminder",
    expression: "cron(0 9 * * ? *)",
    timezone: "Europe/Berlin",
    body: { report: "sales" },
  });
  for (const jobs of [upcoming, notices, done, refunds, thumbnails]) await api.enqueueMany(jobs);
  await api.enqueue("order-timeout", { ...order(1999), takes: 50_000 }, { delay: 5, key: "order-1999" });
  await api.receive("thumbnail", { max: 1 });
  const deadRefunds = async () => (await api.topics()).find(({ topic }) => topic === "refund")?.depths.dead;
  await vi.waitFor(async () => expect(await deadRefunds()).toBe(refunds.length), {
    timeout: PATIENCE_MS,
    interval: 200,
  });
  for await (const { id } of api.dead("refund")) return { dead: id };
  throw new Error("no refund is dead");
}
