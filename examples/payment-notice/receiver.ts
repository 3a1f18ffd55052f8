import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { acceptNotice } from "./accept-notice.ts";

/** The merchant's server: `WEBHOOK_SECRET=whsec_… node payment-notice/receiver.ts`, then http://127.0.0.1:4700/. */
const { WEBHOOK_SECRET, PORT = "4700" } = process.env;
if (!WEBHOOK_SECRET) {
  console.error("WEBHOOK_SECRET must be given: what signs the calls, such as whsec_…");
  process.exit(2);
}
const booked = new Set<string>();

const server = createServer(async (request, response) => {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, `${value}`]),
  );
  const status = acceptNotice({ headers, body: await text(request) }, WEBHOOK_SECRET, (noticeId, payment) => {
    if (!booked.has(noticeId)) console.log(`booked ${noticeId} ${JSON.stringify(payment)}`);
    booked.add(noticeId);
  });
  response.writeHead(status).end();
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`the merchant listens on ${PORT}`));
