import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import type { TestQueue } from "minutehand/testing";
import { afterEach, expect, test, vi } from "vitest";
import { acceptNotice } from "../../examples/payment-notice/accept-notice.ts";
import { notifyMerchant } from "../../examples/payment-notice/notify-merchant.ts";
import type { Topics } from "../../examples/topics.ts";
import { HANG_MS } from "../patience.ts";
import { exampleQueue } from "./queue.ts";

const PAYMENT = { orderId: "17", amount: "12.50" };
const URL = "https://merchant.example/payments";

/** Sets the clock, by which signatures are verified, to `late` ms after the queue's time. */
function atTimeOf(queue: TestQueue<Topics>, late = 0): void {
  vi.setSystemTime(+queue.now() + late);
}
afterEach(() => {
  vi.useRealTimers();
});

test("a merchant who does not answer at first is told again, and books the payment once", async () => {
  const booked: unknown[] = [];
  const queue = exampleQueue((call) => {
    atTimeOf(queue);
    const status = acceptNotice(call, queue.receiverSecret(URL), (_, payment) => {
      // For a day the merchant cannot store the payment.
      if (queue.runs().length < 9) throw new Error("no room");
      booked.push(payment);
    });
    return { status, body: "" };
  });
  const { id } = await notifyMerchant(queue.client, PAYMENT, URL);
  await queue.advance("2d");
  expect(booked).toEqual([PAYMENT]);
  expect(queue.runs().map(({ error = "booked" }) => error)).toEqual([...Array(9).fill("no room"), "booked"]);
  expect(await queue.client.get(id)).toMatchObject({ state: "done", attempt: 10 });
});

test("a notice that was signed long ago is not believed", async () => {
  const booked: unknown[] = [];
  const statuses: number[] = [];
  const queue = exampleQueue((call) => {
    atTimeOf(queue, 6 * 60_000);
    statuses.push(acceptNotice(call, queue.receiverSecret(URL), (_, payment) => booked.push(payment)));
    return { status: 401, body: "" };
  });
  await notifyMerchant(queue.client, PAYMENT, URL);
  await queue.advance(0);
  expect({ statuses, booked }).toEqual({ statuses: [401], booked: [] });
});

test("a call that is not signed with the merchant's secret is not believed", async () => {
  const booked: unknown[] = [];
  const other = `whsec_${Buffer.from("a secret of somebody else's, as long").toString("base64")}`;
  const statuses: number[] = [];
  const queue = exampleQueue((call) => {
    atTimeOf(queue);
    statuses.push(acceptNotice(call, other, (_, payment) => booked.push(payment)));
    statuses.push(
      acceptNotice({ ...call, body: "{}" }, queue.receiverSecret(URL), () => booked.push("forged")),
    );
    return { status: 401, body: "" };
  });
  await notifyMerchant(queue.client, PAYMENT, URL);
  await queue.advance(0);
  expect(statuses).toEqual([401, 401]);
  expect(booked).toEqual([]);
});

const SERVER = join(import.meta.dirname, "../../examples/payment-notice/receiver.ts");

test("the merchant's server outlives a caller who breaks off", async () => {
  const env = { PORT: "0", WEBHOOK_SECRET: "whsec_bWludXRlaGFuZA==" };
  const server = spawn(process.execPath, [SERVER], { env, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [started] = await once(server.stdout, "data");
    const [port] = /\d+/.exec(`${started}`) ?? [];
    const caller = connect(Number(port), "127.0.0.1");
    caller.write("POST / HTTP/1.1\r\nhost: merchant\r\ncontent-length: 10\r\n\r\n{");
    caller.end();
    await once(caller.resume(), "close");
    expect((await fetch(`http://127.0.0.1:${port}`, { method: "POST", body: "{}" })).status).toBe(401);
  } finally {
    server.kill();
  }
});

test("the merchant's server does not start without the secret that it verifies by", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SERVER], {
    env: { PORT: "0" },
    encoding: "utf8",
    timeout: HANG_MS,
  });
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(/^WEBHOOK_SECRET must be this receiver's secret.*\n$/);
});
