import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { acceptNotice } from "../../examples/payment-notice/accept-notice.ts";
import { notifyMerchant } from "../../examples/payment-notice/notify-merchant.ts";
import { exampleQueue } from "./queue.ts";

const PAYMENT = { orderId: "17", amount: "12.50" };
const URL = "https://merchant.example/payments";

test("a merchant who does not answer at first is told again, and books the payment once", async () => {
  const booked: unknown[] = [];
  const statuses: number[] = [];
  const queue = exampleQueue((call) => {
    if (statuses.length < 2) {
      statuses.push(500);
      return { status: 500, body: "" };
    }
    const status = acceptNotice(call, queue.webhookSecret, (_, payment) => booked.push(payment));
    statuses.push(status);
    return { status, body: "" };
  });
  const { id } = await notifyMerchant(queue.client, PAYMENT, URL);
  await queue.advance("4m");
  expect(statuses).toEqual([500, 500, 204]);
  expect(booked).toEqual([PAYMENT]);
  expect(await queue.client.get(id)).toMatchObject({ state: "done", attempt: 3 });
});

test("a call that is not signed with the shared secret is not believed", async () => {
  const booked: unknown[] = [];
  const other = `whsec_${Buffer.from("a secret of somebody else's, as long").toString("base64")}`;
  const statuses: number[] = [];
  const queue = exampleQueue((call) => {
    statuses.push(acceptNotice(call, other, (_, payment) => booked.push(payment)));
    statuses.push(acceptNotice({ ...call, body: "{}" }, queue.webhookSecret, () => booked.push("forged")));
    return { status: 401, body: "" };
  });
  await notifyMerchant(queue.client, PAYMENT, URL);
  await queue.advance(0);
  expect(statuses).toEqual([401, 401]);
  expect(booked).toEqual([]);
});

test("the merchant's server does not start without the secret that it verifies by", () => {
  const server = join(import.meta.dirname, "../../examples/payment-notice/receiver.ts");
  const { status, stdout, stderr } = spawnSync(process.execPath, [server], {
    env: { PORT: "0" },
    encoding: "utf8",
    timeout: 10_000,
  });
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(/^WEBHOOK_SECRET must be given: .*\n$/);
});
