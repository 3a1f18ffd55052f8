import { Session } from "node:inspector/promises";
import { registerHooks } from "node:module";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { APIGatewayProxyEventV2, Context as LambdaContext, SQSEvent } from "aws-lambda";
import { policyText } from "../../src/settings/policy-text.ts";

/** Prints as JSON the files that run for one plain job, and the requests. A program of its own: a test runner changes the sources. */
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SIMULATED = new URL("simulated-clients.ts", import.meta.url).href;
const MINUTE = 60_000;
const DAY_S = 86_400;
/** So long that audits run before the job is sent. */
const DELAY_MINUTES = 30;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const isReplaced = found.url.endsWith("/aws/clients.ts") && context.parentURL !== SIMULATED;
    return isReplaced ? { ...found, url: SIMULATED } : found;
  },
});
let time = Date.parse("2026-03-01T09:00:30Z");
Date.now = () => time;
const { NO_TROUBLE } = await import("../sim/services/service.ts");
const { PREFIX, requests, sqs, TOPIC } = await import("./simulated-clients.ts");
Object.assign(process.env, {
  AWS_LAMBDA_FUNCTION_NAME: "tick",
  AWS_REGION: "eu-central-1",
  MINUTEHAND_EVENT_SOURCES: "{}",
  MINUTEHAND_POLICY: policyText({
    topics: { [TOPIC]: {} },
    shards: 1,
    retention: DAY_S,
    deadRetention: DAY_S,
  }),
  MINUTEHAND_QUEUE_URL_PREFIX: PREFIX,
  MINUTEHAND_TABLE: "jobs",
  POWERTOOLS_METRICS_DISABLED: "true",
});
const api = await import("../../functions/api.ts");
const ticker = await import("../../functions/tick.ts");
const { consumer } = await import("../../src/consumer/consumer.ts");
let runs = 0;
const consume = consumer(() => void runs++);
const lambda = { getRemainingTimeInMillis: () => 60_000 } as LambdaContext;

async function tick(): Promise<void> {
  time += MINUTE;
  await ticker.handler({}, lambda);
}
// After these ticks the table has its cursors, and each process knows the number of shards.
for (let i = 0; i < 3; i++) await tick();

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** What ran during some work. `calls`: how often each function was called, by its file and place. `requests`: the requests to AWS. */
type Played = { readonly calls: ReadonlyMap<string, number>; readonly requests: readonly string[] };

async function play(work: () => Promise<unknown>): Promise<Played> {
  requests.length = 0;
  await session.post("Profiler.takePreciseCoverage");
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const calls = result
    .filter(({ url }) => url.startsWith("file:"))
    .flatMap(({ url, functions }) =>
      functions.map(({ ranges: [range] }): [string, number] => {
        return [`${relative(ROOT, fileURLToPath(url))} ${range?.startOffset}`, range?.count ?? 0];
      }),
    );
  return { calls: new Map(calls), requests: [...requests] };
}

function filesBeside({ calls }: Played, other: ReadonlyMap<string, number> = new Map()): string[] {
  return [...calls].flatMap(([place, count]) =>
    count > (other.get(place) ?? 0) ? place.replace(/ \d+$/, "") : [],
  );
}

const file = () =>
  api.handler({
    rawPath: "/jobs",
    rawQueryString: "",
    headers: { "content-type": "application/json" },
    requestContext: { http: { method: "POST" } },
    body: JSON.stringify({ topic: TOPIC, delay: `${DELAY_MINUTES}m`, body: { n: 1 } }),
  } as unknown as APIGatewayProxyEventV2);

const filing = await play(async () => {
  const { statusCode } = await file();
  if (statusCode !== 201) throw new Error(`the job was not filed: ${statusCode}`);
});
const dueAt = time + DELAY_MINUTES * MINUTE;
/** The most calls of each function in a tick that sends no job. */
const idle = new Map<string, number>();
let sweep = await play(tick);
while (!sweep.requests.includes("SendMessageBatch")) {
  if (time > dueAt) throw new Error("no tick has sent the job");
  for (const [place, count] of sweep.calls) idle.set(place, Math.max(count, idle.get(place) ?? 0));
  sweep = await play(tick);
}

time = dueAt + 500;
const received = sqs.perform(
  "ReceiveMessage",
  { QueueUrl: `${PREFIX}${TOPIC}`, MaxNumberOfMessages: 10, VisibilityTimeout: 90 },
  NO_TROUBLE,
) as { Messages?: { Body: string; ReceiptHandle: string; MessageId: string }[] };
const Records = (received.Messages ?? []).map(({ Body, ReceiptHandle, MessageId }) => {
  return { messageId: MessageId, receiptHandle: ReceiptHandle, body: Body };
});
const run = await play(async () => {
  const { batchItemFailures } = await consume({ Records } as SQSEvent, lambda);
  if (runs !== 1 || batchItemFailures.length > 0) throw new Error("the job did not run");
});

const files = [...filesBeside(filing), ...filesBeside(sweep, idle), ...filesBeside(run)];
const own = files.filter((name) => !/^(?:\.\.|node_modules|test|src\/testing)\b/.test(name));
console.log(
  JSON.stringify({
    files: [...new Set(own)].sort(),
    requests: { file: filing.requests, sweep: sweep.requests, run: run.requests },
  }),
);
