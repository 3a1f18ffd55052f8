import { CreateQueueCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context as LambdaContext,
  SQSBatchResponse,
  SQSEvent,
} from "aws-lambda";
import { vi } from "vitest";
import type { Context } from "../../protocol/ports.ts";
import type { DirectClient } from "../../sdk/client.ts";
import { createTable } from "../aws/contract-table.ts";
import { startDynamo, startSqs, useEndpoint } from "../aws/emulators.ts";
import { shopWith, someFunction, templateOf } from "../infra/shop-stack.ts";
import { resourcesOf, type StackTemplate } from "../infra/stack-template.ts";
import { createRecorder, type Recorder } from "./recorder.ts";

/** Stands in whatever is nobody else's business. */
export const MARK = "s3cr3t";

const SHARDS = 2;
const CONSUMERS = { orders: "Orders", precise: "Precise", notes: "Notes" } as const;

export type ConsumedTopic = keyof typeof CONSUMERS;
/** The functions, by the beginning of their names in the template, and the file that each is bundled from. */
export const ENTRIES = {
  JobsApiHandler: "functions/api.ts",
  JobsApiReceive: "functions/receive.ts",
  JobsTickSweeper: "functions/tick.ts",
  Orders: "functions/reminders.ts",
  Precise: "functions/reminders.ts",
  Notes: "functions/reminders.ts",
  Shop: "sdk/client.ts",
} as const;
export type FunctionName = keyof typeof ENTRIES;

export type Answer = { status: number; json: Record<string, unknown> };

export type Deployment = {
  template: StackTemplate;
  table: string;
  recorder: Recorder;
  /** Not recorded: what users, SQS, TTL and other processes do. */
  ctx: Context;
  sqs: SQSClient;
  urlPrefix: string;
  /** Of all jobs that were pulled. */
  receipts: string[];
  /** All that the functions have written to stdout and stderr: their logs and metrics. */
  output: () => string;
  /** Moves every function's clock ahead; SQS's stays. */
  pass: (ms: number) => void;
  /** Calls the API; `POST …/receive` reaches the function that API Gateway sends it to. */
  call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  tick: () => Promise<void>;
  /** The tick's function after a deployment with another number of shards. */
  tickWithShards: (shards: number) => Promise<void>;
  /** Invokes a topic's consumer with messages of these bodies, `remaining` ms before its deadline. */
  consume: (topic: ConsumedTopic, bodies: readonly string[], remaining?: number) => Promise<SQSBatchResponse>;
  /** `queue.grantEnqueue(producer)`: code inside AWS. */
  producer: DirectClient;
  close: () => Promise<void>;
};

/** The functions of a stack with a topic of every kind, in this process, on the emulators. */
export async function deploy(): Promise<Deployment> {
  const { stack, queue } = shopWith({
    shards: SHARDS,
    topics: {
      orders: {},
      precise: { precision: "millisecond" },
      notes: { tracking: "none", maxAttempts: 2 },
      work: { consumer: "pull" },
      events: { consumer: "pull", tracking: "none" },
    },
  });
  for (const [topic, id] of Object.entries(CONSUMERS)) queue.addConsumer(topic, someFunction(stack, id));
  queue.grantEnqueue(someFunction(stack, "Shop"));
  const template = templateOf(stack);

  const [dynamo, queues] = [await startDynamo(), await startSqs()];
  useEndpoint("DYNAMODB", dynamo.endpoint);
  useEndpoint("SQS", queues.endpoint);
  process.env.AWS_SECRET_ACCESS_KEY = `${MARK}-aws-secret`;
  process.env.POWERTOOLS_LOG_LEVEL = "DEBUG";
  const written = listen();
  const { dynamoClient, sqsClient } = await import("../../aws/clients.ts");
  const sqs = sqsClient();
  const table = await createTable(dynamoClient());
  let urlPrefix = "";
  for (const [, { Properties }] of resourcesOf(template, "AWS::SQS::Queue")) {
    const name = String(Properties.QueueName);
    const { QueueUrl = "" } = await sqs.send(new CreateQueueCommand({ QueueName: name }));
    if (name.endsWith("-orders")) urlPrefix = QueueUrl.slice(0, -"orders".length);
  }
  const policy = policyIn(template);
  Object.assign(process.env, {
    MINUTEHAND_TABLE: table,
    MINUTEHAND_QUEUE_URL_PREFIX: urlPrefix,
    MINUTEHAND_POLICY: policy,
    POWERTOOLS_SERVICE_NAME: "minutehand",
    POWERTOOLS_METRICS_NAMESPACE: "Minutehand",
  });

  const receipts: string[] = [];
  const wallClock = Date.now;
  let ahead = 0;
  vi.spyOn(Date, "now").mockImplementation(() => wallClock() + ahead);

  const { createContext } = await import("../../sdk/context.ts");
  const ctx = createContext();

  const recorder = createRecorder();
  const api = (await recorder.load("JobsApiHandler", () => import("../../functions/api.ts"))).handler;
  const receive = (await recorder.load("JobsApiReceive", () => import("../../functions/receive.ts"))).handler;
  const loadTick = async () => {
    const places = recorder.reached.get("JobsTickSweeper") ?? [];
    const { handler } = await recorder.load("JobsTickSweeper", () => import("../../functions/tick.ts"));
    for (const place of places) recorder.reached.get("JobsTickSweeper")?.add(place);
    return handler;
  };
  let tick = await loadTick();
  const consumers = new Map<string, (event: SQSEvent, context: LambdaContext) => Promise<SQSBatchResponse>>();
  for (const [topic, id] of Object.entries(CONSUMERS)) {
    const { handler } = await recorder.load(id, () => import("../../functions/reminders.ts"));
    consumers.set(topic, handler);
  }
  const { directClient } = await recorder.load("Shop", () => import("../../sdk/client.ts"));
  const producer = directClient();

  return {
    template,
    table,
    recorder,
    ctx,
    sqs,
    urlPrefix,
    producer,
    receipts,
    output: () => written.join(""),
    pass(ms) {
      ahead += ms;
    },
    async call(method, path, body, headers) {
      const pulls = method === "POST" && path.endsWith("/receive");
      const answer = answerOf(await (pulls ? receive : api)(eventOf(method, path, body, headers)));
      const pulled = (pulls && answer.json.jobs ? answer.json.jobs : []) as { receipt: string }[];
      receipts.push(...pulled.map(({ receipt }) => receipt));
      return answer;
    },
    tick: () => tick({}, contextWith(170_000)),
    async tickWithShards(shards) {
      process.env.MINUTEHAND_POLICY = JSON.stringify({ ...JSON.parse(policy), shards });
      tick = await loadTick();
      await tick({}, contextWith(170_000));
    },
    async consume(topic, bodies, remaining = 30_000) {
      const handler = consumers.get(topic);
      if (!handler) throw new Error(`${topic} has no consumer`);
      const Records = bodies.map((body, i) => ({ messageId: `m${i}`, receiptHandle: `handle-${i}`, body }));
      return handler({ Records } as SQSEvent, contextWith(remaining));
    },
    async close() {
      vi.restoreAllMocks();
      await Promise.all([dynamo.close(), queues.close()]);
    },
  };
}

/** Powertools writes to the streams, functions to the console, which the test runner has replaced. */
function listen(): string[] {
  const written: string[] = [];
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((chunk) => written.push(String(chunk)) > 0);
  }
  for (const level of ["debug", "info", "log", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((...said) => void written.push(`${said.map(String)}\n`));
  }
  return written;
}

/** The whole name of a function in the template, by its beginning. */
export function functionIn(template: StackTemplate, name: string): string {
  const ids = resourcesOf(template, "AWS::Lambda::Function").map(([id]) => id);
  const [found, ...others] = ids.filter((id) => id.startsWith(name));
  if (found === undefined || others.length > 0) throw new Error(`${name} is not one of ${ids.join(", ")}`);
  return found;
}

function policyIn(template: StackTemplate): string {
  const { Environment } = template.Resources[functionIn(template, "JobsTick")]?.Properties ?? {};
  const { Variables } = Environment as { Variables: Record<string, unknown> };
  if (typeof Variables.MINUTEHAND_POLICY !== "string") throw new Error("the tick has no policy");
  return Variables.MINUTEHAND_POLICY;
}

function contextWith(remaining: number): LambdaContext {
  return { getRemainingTimeInMillis: () => remaining } as LambdaContext;
}

/** What API Gateway sends, as far as it is read. A `body` that is text goes as it is. */
function eventOf(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): APIGatewayProxyEventV2 {
  const [rawPath, rawQueryString = ""] = path.split("?");
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return {
    rawPath,
    rawQueryString,
    headers,
    isBase64Encoded: false,
    requestContext: { http: { method } },
    ...(text === undefined ? {} : { body: text }),
  } as APIGatewayProxyEventV2;
}

function answerOf({ statusCode = 0, body = "" }: APIGatewayProxyStructuredResultV2): Answer {
  return { status: statusCode, json: JSON.parse(body) };
}
