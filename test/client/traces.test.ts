import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { directOn } from "../../src/client/direct-client.ts";
import { startReceiver } from "../support/receiver.ts";
import { traceparentOf, withOpenTelemetry } from "../support/tracing.ts";
import { createWorld } from "../support/world.ts";

const { within } = withOpenTelemetry();

test("a call over HTTP names the active span in a header that no instrumentation of fetch sends too", async () => {
  await using api = await startReceiver((_, response) => response.writeHead(503).end());
  const client = createClient({ url: api.url, retries: 1 });
  const enqueue = () => client.enqueue("orders", 1, { delay: 0 }).catch(() => {});
  const traceparent = await within("checkout", async (span) => {
    await enqueue();
    return traceparentOf(span);
  });
  await enqueue();
  expect(api.received.map(({ headers }) => headers["minutehand-traceparent"])).toEqual([
    ...[traceparent, traceparent],
    ...[undefined, undefined],
  ]);
  expect(api.received.filter(({ headers }) => headers.traceparent !== undefined)).toEqual([]);
});

test("each call of the direct client that files a job keeps the active span with it", async () => {
  const { ctx, pool } = createWorld({ topics: { orders: {} } });
  const client = directOn(ctx, console);
  const traceparent = await within("checkout", async (span) => {
    await client.enqueue("orders", 1, { delay: "1h" });
    await client.put("orders", "k", { body: 1, delay: "1h" });
    await client.enqueueMany([{ topic: "orders", body: 1, delay: "1h" }]);
    return traceparentOf(span);
  });
  await client.enqueue("orders", 1, { delay: "1h" });
  const homes = pool.items().filter((item) => "body" in item);
  expect(homes.map((home) => ("traceparent" in home ? home.traceparent : "none")).sort()).toEqual([
    ...[traceparent, traceparent, traceparent],
    "none",
  ]);
});
