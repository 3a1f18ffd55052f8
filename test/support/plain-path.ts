import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { SQSEvent } from "aws-lambda";
import { consumeOn } from "../../consumer/consume.ts";
import { createApp } from "../../http/app.ts";
import { routes } from "../../http/route-table.ts";
import { sweepShard } from "../../protocol/hand-over/sweep.ts";
import { createWorld, MINUTE } from "./world.ts";

/**
 * Prints as JSON the files that have a function which runs for one plain job, from `POST /jobs` to `done`. It is a separate program
 * because a test runner changes the sources before it runs them.
 */
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const world = createWorld({ shards: 1, topics: { orders: {} } });
const log = { info: () => {}, warn: () => {}, error: () => {} };
const app = createApp({ ctx: world.ctx, version: async () => "1", timers: world.timers, log }, routes);
// After this first tick the table has its cursors.
await world.tick();

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
// Calls until now are not counted.
await session.post("Profiler.takePreciseCoverage");

const { status } = await app({
  method: "POST",
  path: "/jobs",
  query: "",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ topic: "orders", delay: "10m", body: { n: 1 } }),
});
if (status !== 201) throw new Error(`the job was not filed: ${status}`);
await world.pass(8 * MINUTE, { ticks: false });
const backlogs = { isBehind: async () => false };
await sweepShard(world.ctx, 0, world.now() + MINUTE, backlogs);
await world.pass(2 * MINUTE, { ticks: false });
const received = await world.queues.receive(
  { topic: "orders" },
  { max: 10, waitSeconds: 0, hideSeconds: 60 },
);
let runs = 0;
const consumer = consumeOn(
  world.ctx,
  async () => void runs++,
  world.timers,
  () => {},
);
const event = {
  Records: received.map(({ body, handle }, i) => ({ messageId: String(i), receiptHandle: handle, body })),
} as SQSEvent;
const { batchItemFailures } = await consumer(event, { getRemainingTimeInMillis: () => 30_000 } as never);
if (runs !== 1 || batchItemFailures.length > 0) throw new Error("the job did not run");

const { result } = await session.post("Profiler.takePreciseCoverage");
const files = result.flatMap(({ url, functions }) => {
  const hasRun = functions.some(
    ({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0,
  );
  return hasRun && url.startsWith("file:") ? relative(ROOT, fileURLToPath(url)) : [];
});
console.log(
  JSON.stringify(files.filter((file) => !/^(?:\.\.|node_modules|test|testing)\b/.test(file)).sort()),
);
