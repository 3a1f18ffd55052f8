import { describe, expect, test } from "vitest";
import { createTestQueue, type Run } from "../../src/testing/test-queue.ts";

const handler = () => {};
const times = (runs: readonly Run[]) => runs.map(({ at, body }) => `${at.toISOString()} ${body}`);

const PAID = { detailType: "OrderPaid", key: "$.detail.orderId" };
const paid = (orderId: string) => ({ source: "bank", detailType: "OrderPaid", detail: { orderId } });

describe("what a topic's settings do in a test queue", () => {
  test("a job that is due outside of the window runs when the window opens", async () => {
    const orders = { handler, window: "09:00-18:00 Asia/Shanghai" };
    const queue = createTestQueue({ topics: { orders }, now: "2026-01-01T07:00:00Z" });
    await queue.client.enqueue("orders", "by day", { delay: "1h" });
    await queue.client.enqueue("orders", "by night", { delay: "4h" });
    await queue.advance("1d");
    expect(times(queue.runs())).toEqual([
      "2026-01-01T08:00:00.000Z by day",
      "2026-01-02T01:00:00.000Z by night",
    ]);
  });

  test.each([
    ["skip", "cancelled"],
    ["expire", "expired"],
  ] as const)("ifLate with do %s makes a job %s that was not received in time", async (doing, state) => {
    const work = { consumer: "pull", ifLate: { after: "30m", do: doing } } as const;
    const queue = createTestQueue({ topics: { work } });
    const late = await queue.client.enqueue("work", "late", { delay: "10m" });
    await queue.client.enqueue("work", "in time", { delay: "50m" });
    await queue.advance("1h");
    expect(await queue.client.receive("work", { max: 10 })).toMatchObject([{ body: "in time" }]);
    expect(await queue.client.get(late.id)).toMatchObject({ state });
  });

  test("maxFiledPerMinute refuses further jobs until the next minute of the queue's clock", async () => {
    const queue = createTestQueue({ topics: { orders: { handler, maxFiledPerMinute: 1 } } });
    const file = () => queue.client.enqueue("orders", 1, { delay: "1h" });
    await file();
    await expect(file()).rejects.toMatchObject({ code: "too-many-filed", status: 429 });
    await queue.advance("1m");
    await file();
    expect(queue.jobs("orders")).toHaveLength(2);
  });

  test("a spread makes each job due later by a random time, which is at most the spread", async () => {
    const queue = createTestQueue({ topics: { orders: { handler, spread: "10m" } } });
    for (let body = 0; body < 10; body++) await queue.client.enqueue("orders", body, { delay: "1h" });
    await queue.advance("2h");
    const starts = queue.runs().map(({ at }) => +at);
    expect(new Set(starts).size).toBe(10);
    expect(Math.min(...starts)).toBeGreaterThanOrEqual(Date.parse("2026-01-01T01:00:00Z"));
    expect(Math.max(...starts)).toBeLessThanOrEqual(Date.parse("2026-01-01T01:10:00Z"));
    expect(Math.max(...starts) - Math.min(...starts)).toBeGreaterThan(60_000);
  });

  test("a tombstone cancels jobs that are filed while it lasts, and no later jobs", async () => {
    const orders = { handler, cancelOn: { ...PAID, tombstone: "10m" as const } };
    const queue = createTestQueue({ topics: { orders } });
    await queue.publish(paid("17"));
    await queue.publish(paid("18"));
    await queue.advance("9m");
    const early = await queue.client.enqueue("orders", "early", { delay: "1h", key: "17" });
    await queue.advance("2m");
    await queue.client.enqueue("orders", "later", { delay: "1h", key: "18" });
    await queue.advance("2h");
    expect(early.state).toBe("cancelled");
    expect(queue.runs().map(({ body }) => body)).toEqual(["later"]);
  });

  test("without a tombstone an event cancels only jobs that exist", async () => {
    const queue = createTestQueue({ topics: { orders: { handler, cancelOn: { ...PAID, tombstone: 0 } } } });
    await queue.publish(paid("17"));
    await queue.client.enqueue("orders", "filed after", { delay: "1h", key: "17" });
    await queue.advance("2h");
    expect(queue.runs().map(({ body }) => body)).toEqual(["filed after"]);
  });

  test("events postpone a job, at most until maxDelay after the first event", async () => {
    const visits = { detailType: "Visited", key: "$.detail.shop", body: "$.detail.page" };
    const reminders = {
      handler,
      enqueueOn: { ...visits, delay: "1h", onDuplicate: "postpone", maxDelay: "3h" },
    } as const;
    const queue = createTestQueue({ topics: { reminders } });
    for (let page = 0; page < 6; page++) {
      await queue.publish({ source: "shop", detailType: "Visited", detail: { shop: "7", page } });
      await queue.advance("50m");
    }
    expect(times(queue.runs()).slice(0, 1)).toEqual(["2026-01-01T03:00:00.000Z 3"]);
  });

  test("one event is applied to each topic whose rules it matches", async () => {
    const queue = createTestQueue({
      topics: {
        orders: { handler, cancelOn: PAID },
        invoices: { handler, enqueueOn: { ...PAID, delay: "1m" } },
        letters: { handler, enqueueOn: { ...PAID, source: "post", delay: "1m" } },
      },
    });
    await queue.client.enqueue("orders", 1, { delay: "1h", key: "17" });
    await queue.publish(paid("17"));
    await queue.advance("2h");
    expect(queue.runs()).toMatchObject([{ topic: "invoices", body: { orderId: "17" } }]);
    expect(queue.jobs("orders")).toMatchObject([{ state: "cancelled" }]);
  });
});
