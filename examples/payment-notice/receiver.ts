import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { acceptNotice } from "./accept-notice.ts";

/** The merchant's server: `WEBHOOK_SECRET=whsec_… node payment-notice/receiver.ts`, then http://127.0.0.1:4700/. */
const { WEBHOOK_SECRET, PORT = "4700" } = process.env;
if (!WEBHOOK_SECRET) {
  console.error("WEBHOOK_SECRET must be this receiver's secret, whsec_… (see minutehand receiver-secret)");
  process.exit(2);
}
const booked = new Set<string>();

async function answer(request: IncomingMessage): Promise<number> {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, `${value}`]),
  );
  return acceptNotice({ headers, body: await text(request) }, WEBHOOK_SECRET ?? "", (noticeId, payment) => {
    if (!booked.has(noticeId)) console.log(`booked ${noticeId} ${JSON.stringify(payment)}`);
    booked.add(noticeId);
  });
}

const server = createServer(async (request, response) => {
  try {
    response.writeHead(await answer(request)).end();
  } catch (error) {
    // After a 500 the queue sends the notice again.
    console.error(error);
    response.writeHead(500).end();
  }
});
server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`the merchant listens on ${(server.address() as AddressInfo).port}`);
});
