import type { SchedulerClient } from "@aws-sdk/client-scheduler";
import { GetSecretValueCommand, PutSecretValueCommand } from "@aws-sdk/client-secrets-manager";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { Duration } from "aws-cdk-lib";
import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context as LambdaContext,
  SQSBatchResponse,
  SQSEvent,
} from "aws-lambda";
import { vi } from "vitest";
import type { TopicProps } from "../../infra/props.ts";
import type { Outcome } from "../../local/functions/execution-environment.ts";
import { type OwnServices, startOwnServices } from "../../local/services/own-services.ts";
import { refusalText } from "../../local/template/create-each.ts";
import { scopeOf } from "../../local/template/naming.ts";
import { createQueues } from "../../local/template/queues.ts";
import { readStack, type StackSpec } from "../../local/template/resources.ts";
import { createSchedules } from "../../local/template/schedules.ts";
import { createSecrets } from "../../local/template/secrets.ts";
import { createTables } from "../../local/template/tables.ts";
import type { Scope, Template } from "../../local/template/template.ts";
import type { DirectClient } from "../../src/client/direct-client.ts";
import type { DirectWorker } from "../../src/client/direct-worker.ts";
import type { runInChain } from "../../src/environment/process.ts";
import type { Context } from "../../src/protocol/ports.ts";
import { policyIn } from "../../src/settings/policy-text.ts";
import { startDynamo, startSqs, useEndpoint } from "../aws/emulators.ts";
import { resourcesOf, type StackTemplate } from "../infra/resources.ts";
import { shopWith, someFunction, templateOf } from "../infra/shop-stack.ts";
import type { FunctionName } from "./entries.ts";
import { type Receivers, startReceivers } from "./receivers.ts";
import { createRecorder, type Recorder } from "./recorder.ts";

/** A text in all confidential data of the scenes. It must not appear in logs or in answers to others. */
export const MARK = "s3cr3t";

const SHARDS = 2;
const PLACE = { region: "us-east-1", account: "000000000000" };
const CONSUMERS = { orders: "Orders", precise: "Precise", notes: "Notes" } as const;
/** A job waits only if other starts were counted before (`fill`, `fillSome`), or if it is one of the 1,200 jobs of `tickEveryWay`. */
export const LIMIT = { maxPerSecond: 1000 };
const LATE: Pick<TopicProps, "ifLate"> = { ifLate: { after: Duration.hours(12), do: "skip" } };
const KEY = "$.detail.key";
/** The rules of `orders` for events: one event cancels jobs, and the others enqueue jobs, each in another way. */
const EVENTS: Pick<TopicProps, "cancelOn" | "enqueueOn"> = {
  cancelOn: { detailType: "Done", key: KEY },
  enqueueOn: [
    { detailType: "Asked", key: KEY, delay: Duration.seconds(0) },
    { detailType: "Again", key: KEY, delay: Duration.minutes(2), onDuplicate: "replace" },
    { detailType: "Far", key: KEY, delay: Duration.days(30), onDuplicate: "replace" },
    {
      detailType: "Later",
      key: KEY,
      delay: Duration.hours(1),
      onDuplicate: "postpone",
      maxDelay: Duration.hours(2),
    },
  ],
};

export type ConsumedTopic = keyof typeof CONSUMERS | "hooks" | "copies";

export type Answer = { status: number; json: Record<string, unknown> };

export type Deployment = {
  template: StackTemplate;
  scope: Scope;
  table: string;
  recorder: Recorder;
  /** A context whose calls are not recorded. Scenes use it for what users, SQS, TTL and other processes do. */
  ctx: Context;
  sqs: SQSClient;
  scheduler: SchedulerClient;
  urlPrefix: string;
  /** Both secrets of the webhook topic: the current one and the one before. */
  secrets: readonly string[];
  receivers: Receivers;
  receipts: string[];
  /** All that the functions have written to stdout and stderr: their logs and metrics. */
  output: () => string;
  /** Moves the clock of each function ahead, but not SQS's clock. */
  pass: (ms: number) => void;
  /** Calls the API; `POST …/receive` reaches the function that API Gateway sends it to. */
  call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  tick: () => Promise<void>;
  /** The tick's function after a deployment with another number of shards. */
  tickWithShards: (shards: number) => Promise<void>;
  promote: (event: unknown) => Promise<void>;
  occur: (event: unknown) => Promise<void>;
  /** Invokes the function that events reach, with messages of these bodies. */
  bring: (bodies: readonly string[]) => Promise<SQSBatchResponse>;
  /** Invokes a topic's consumer with messages of these bodies, `remaining` ms before its deadline. */
  consume: (topic: ConsumedTopic, bodies: readonly string[], remaining?: number) => Promise<SQSBatchResponse>;
  /** A client inside AWS, with the rights of `queue.grantEnqueue(producer)`. */
  producer: DirectClient;
  /** Makes calls of the producer from inside a job's handler. */
  inHandler: typeof runInChain;
  /** As `call`, but a worker inside AWS makes the calls of pulled jobs: `queue.grantPull(topic, worker)`. */
  callByWorker: Deployment["call"];
  close: () => Promise<void>;
};

/** The functions of a stack with a topic of every kind, in this process, on the services of the local stack. */
export async function deploy(): Promise<Deployment> {
  const receivers = await startReceivers();
  const template = shopTemplate(receivers.url);
  const { dynamo, queues, services } = await startServices();
  const written = listen();
  const site = { ...PLACE, stackName: "Shop", sqsEndpoint: queues.endpoint, apiUrl: "" };
  const resources = readStack(assemblyOf(template, site.stackName), site);
  const { sqs, scheduler } = await createResources(resources);
  const secrets = await changeSecrets(resources.secrets);
  serveResources(services, resources);
  const environmentOf = (name: string) => functionEnvironment(template, resources, name);
  const pass = shiftClock();

  enter(environmentOf("JobsApiHandler"));
  const ctx = await unrecordedContext();
  const recorder = createRecorder();
  const functions = await loadFunctions(recorder, environmentOf);
  return {
    template,
    scope: scopeOf(template as unknown as Template, site),
    table: resources.tables[0]?.name ?? "",
    recorder,
    ctx,
    sqs,
    scheduler,
    urlPrefix: environmentOf("JobsApiHandler").MINUTEHAND_QUEUE_URL_PREFIX ?? "",
    secrets,
    receivers,
    producer: functions.producer,
    inHandler: functions.inHandler,
    output: () => written.join(""),
    pass,
    ...callsOf(functions),
    ...invocationsOf(functions),
    async close() {
      vi.restoreAllMocks();
      await Promise.all([dynamo.close(), queues.close(), services.stop(), receivers.stop()]);
    },
  };
}

function shopTemplate(webhookUrl: string): StackTemplate {
  const { stack, queue } = shopWith({
    shards: SHARDS,
    schedules: {
      nightly: { topic: "orders", expression: "cron(0 2 * * ? *)", body: { text: `${MARK} body` } },
    },
    topics: {
      orders: { ...LIMIT, ...LATE, ...EVENTS },
      precise: { ...LIMIT, ...LATE, precision: "millisecond" },
      notes: { tracking: "none", maxAttempts: 2, maxFiledPerMinute: 1_000_000 },
      work: { ...LIMIT, ...LATE, consumer: "pull" },
      events: { consumer: "pull", tracking: "none" },
      copies: { ...LIMIT, ...LATE },
      hooks: {
        ...LIMIT,
        ...LATE,
        webhook: { url: webhookUrl, allowHttp: true, allowHosts: ["127.0.0.1"] },
      },
    },
  });
  for (const [topic, id] of Object.entries(CONSUMERS)) queue.addConsumer(topic, someFunction(stack, id));
  queue.addTarget("copies", someFunction(stack, "Copy", Duration.seconds(3)));
  queue.grantEnqueue(someFunction(stack, "Shop"));
  const puller = someFunction(stack, "Worker");
  for (const topic of ["work", "events"]) queue.grantPull(topic, puller);
  return templateOf(stack);
}

async function startServices() {
  const [dynamo, queues] = [await startDynamo(), await startSqs()];
  const services = await startOwnServices(undefined, PLACE);
  useEndpoint("DYNAMODB", dynamo.endpoint);
  useEndpoint("SQS", queues.endpoint);
  for (const service of ["SCHEDULER", "SECRETS_MANAGER", "LAMBDA"] as const)
    useEndpoint(service, services.url);
  process.env.AWS_SECRET_ACCESS_KEY = `${MARK}-aws-secret`;
  return { dynamo, queues, services };
}

async function createResources(resources: StackSpec) {
  const { secretsClient, sqsClient } = await import("../../src/aws/clients.ts");
  const { schedulerClient } = await import("../../src/aws/scheduler-client.ts");
  const [sqs, scheduler] = [sqsClient(), schedulerClient()];
  const refused = [
    ...(await createTables(resources.tables, {})),
    ...(await createQueues(resources.queues, sqs)),
    ...(await createSchedules(resources.scheduleGroups, resources.schedules, scheduler)),
    ...(await createSecrets(resources.secrets, secretsClient())),
  ];
  if (refused.length > 0) throw new Error(`the services refuse ${refused.map(refusalText).join(", ")}`);
  return { sqs, scheduler };
}

/** Nothing polls the queues: each scene invokes the consumers itself, with the messages that it chooses. */
function serveResources(services: OwnServices, resources: StackSpec): void {
  const idle = () => ({ stop: async () => {} });
  services.invocations.start((name, event) =>
    resources.functions.some((spec) => spec.name === name || spec.arn === name)
      ? Promise.resolve(outcomeFor(event as InvokedWith))
      : undefined,
  );
  services.eventSourceMappings.start(resources.eventSources.map((spec) => ({ spec, start: idle })));
}

type InvokedWith = { body?: { fails?: string } | null };

/** A target that does what the body of its job asks for, in the words of the app's reminders. */
function outcomeFor({ body }: InvokedWith): Outcome {
  if (body?.fails === undefined) return { outcome: "returned", payload: JSON.stringify(body ?? null) };
  return { outcome: "threw", error: { errorType: "Error", errorMessage: body.fails } };
}

type Variables = Readonly<Record<string, string>>;

function functionEnvironment(template: StackTemplate, resources: StackSpec, name: string): Variables {
  const id = functionIn(template, name);
  const spec = resources.functions.find(({ logicalId }) => logicalId === id);
  return { AWS_LAMBDA_FUNCTION_NAME: spec?.name ?? "", ...spec?.environment };
}

/** Replaces the environment, because a function must not see the variables of another function. */
function enter(environment: Variables, more: Variables = {}): void {
  for (const variable of Object.keys(process.env))
    if (variable.startsWith("MINUTEHAND_")) delete process.env[variable];
  Object.assign(process.env, environment, { POWERTOOLS_LOG_LEVEL: "DEBUG" }, more);
}

/** Takes over the clock of this process. Answers the function that moves the clock ahead. */
function shiftClock(): (ms: number) => void {
  const wallClock = Date.now;
  let ahead = 0;
  vi.spyOn(Date, "now").mockImplementation(() => wallClock() + ahead);
  return (ms) => {
    ahead += ms;
  };
}

async function unrecordedContext(): Promise<Context> {
  const { createContext } = await import("../../src/environment/context.ts");
  const { createScheduler } = await import("../../src/environment/scheduler.ts");
  const ctx = { ...createContext(), ...createScheduler() };
  // These ports load their clients on first use. Use them before the recorder starts. Otherwise the recorder would take these clients for a function's.
  await ctx.promotions?.remove("none");
  await ctx.schedules?.remove("none");
  return ctx;
}

type Consume = (event: SQSEvent, context: LambdaContext) => Promise<SQSBatchResponse>;

type Load = <T>(name: FunctionName, module: () => Promise<T>, more?: Variables) => Promise<T>;

/** Loads each function in its environment. `environmentOf` answers a function's environment by the beginning of its name. */
async function loadFunctions(recorder: Recorder, environmentOf: (name: string) => Variables) {
  const load: Load = (name, module, more) => {
    enter(environmentOf(name), more);
    return recorder.load(name, module);
  };
  const { handler: api } = await load("JobsApiHandler", () => import("../../functions/api.ts"));
  const { handler: receive } = await load("JobsApiReceive", () => import("../../functions/receive.ts"));
  const promotions = await load("JobsPromotionsPromote", () => import("../../functions/promote.ts"));
  const recurring = await load("JobsRecurringOccurrence", () => import("../../functions/occurrence.ts"));
  const { handler: bring } = await load("JobsEventsApplier", () => import("../../functions/event.ts"));
  const tick = await loadTick(load, recorder);
  const consumers = await loadConsumers(load);
  const { directClient, runInChain: inHandler } = await load("Shop", async () => ({
    ...(await import("../../src/client/direct-client.ts")),
    ...(await import("../../src/environment/process.ts")),
  }));
  const producer = directClient();
  const { directWorker } = await load("Worker", () => import("../../src/client/direct-worker.ts"));
  const worker = directWorker();
  const tickOfShards = (shards: number) => {
    const policy = policyIn(environmentOf("JobsTickSweeper").MINUTEHAND_POLICY ?? "");
    return loadTick(load, recorder, { MINUTEHAND_POLICY: JSON.stringify({ ...policy, shards }) });
  };
  const { handler: promote } = promotions;
  const { handler: occur } = recurring;
  return { api, receive, promote, occur, bring, tick, tickOfShards, consumers, producer, inHandler, worker };
}

async function loadTick(load: Load, { reached }: Recorder, more?: Variables) {
  const places = reached.get("JobsTickSweeper") ?? [];
  const { handler } = await load("JobsTickSweeper", () => import("../../functions/tick.ts"), more);
  for (const place of places) reached.get("JobsTickSweeper")?.add(place);
  return handler;
}

async function loadConsumers(load: Load): Promise<ReadonlyMap<string, Consume>> {
  const consumers = new Map<string, Consume>();
  for (const [topic, id] of Object.entries(CONSUMERS) as [string, FunctionName][]) {
    const { handler } = await load(id, () => import("../../functions/reminders.ts"));
    consumers.set(topic, handler);
  }
  const hooks = await load("JobsWebhookhooksCaller", () => import("../../functions/webhook.ts"));
  const copies = await load("CopyTargetcopiesCaller", () => import("../../functions/target.ts"));
  return consumers.set("hooks", hooks.handler).set("copies", copies.handler);
}

type Functions = Awaited<ReturnType<typeof loadFunctions>>;

function callsOf({ api, receive, worker }: Functions) {
  const receipts: string[] = [];
  const noted = (answer: Answer): Answer => {
    const pulled = (answer.json.jobs ?? []) as { receipt?: string }[];
    receipts.push(...pulled.flatMap(({ receipt }) => receipt ?? []));
    return answer;
  };
  const call: Deployment["call"] = async (method, path, body, headers) => {
    const pulls = method === "POST" && path.endsWith("/receive");
    return noted(answerOf(await (pulls ? receive : api)(eventOf(method, path, body, headers))));
  };
  const callByWorker: Deployment["call"] = async (method, path, body, headers) => {
    const [, topic = "", verb = ""] =
      /^\/topics\/(\w+)\/(receive|finish|extend|retry|bury)$/.exec(path) ?? [];
    if (verb === "") return call(method, path, body, headers);
    return noted(await answerOfWorker(worker, topic, verb as keyof DirectWorker, body));
  };
  return { receipts, call, callByWorker };
}

function invocationsOf({ promote, occur, bring, consumers, tickOfShards, ...first }: Functions) {
  let { tick } = first;
  const invocations: Pick<Deployment, "promote" | "occur" | "tick" | "tickWithShards" | "bring" | "consume"> =
    {
      promote: (event) => promote(event as { id: string }),
      occur,
      tick: () => tick({}, contextWith(170_000)),
      async tickWithShards(shards) {
        tick = await tickOfShards(shards);
        await tick({}, contextWith(170_000));
      },
      bring: (bodies) => bring(messagesOf(bodies)),
      async consume(topic, bodies, remaining = topic === "copies" ? 90_000 : 30_000) {
        const handler = consumers.get(topic);
        if (!handler) throw new Error(`${topic} has no consumer`);
        return handler(messagesOf(bodies), contextWith(remaining));
      },
    };
  return invocations;
}

/** Collects all output. Powertools writes to the streams. Functions write to the console, which the test runner has replaced. */
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

/** A stack's assembly as the CDK writes it, but without code, because the code is loaded in this process. */
function assemblyOf(template: StackTemplate, stackName: string): Parameters<typeof readStack>[0] {
  const keys = resourcesOf(template, "AWS::Lambda::Function").map(([, { Properties }]) =>
    String((Properties.Code as { S3Key?: string }).S3Key),
  );
  return {
    stackName,
    template: template as unknown as Template,
    assets: new Map(keys.map((key) => [key, ""])),
    others: [],
    warnings: [],
  };
}

async function changeSecrets(secrets: StackSpec["secrets"]): Promise<string[]> {
  const { secretsClient } = await import("../../src/aws/clients.ts");
  const client = secretsClient();
  const values: string[] = [];
  for (const { name: SecretId } of secrets) {
    const before = await client.send(new GetSecretValueCommand({ SecretId }));
    const SecretString = `${MARK}${"A".repeat(44 - MARK.length)}`;
    await client.send(new PutSecretValueCommand({ SecretId, SecretString }));
    values.push(before.SecretString ?? "", SecretString);
  }
  return values;
}

async function answerOfWorker(
  worker: DirectWorker,
  topic: string,
  verb: keyof DirectWorker,
  body: unknown,
): Promise<Answer> {
  const { receipt, seconds, ...options } = body as { receipt: string; seconds: number };
  const calls: Readonly<Record<keyof DirectWorker, () => Promise<object>>> = {
    receive: async () => ({ jobs: await worker.receive(topic, options) }),
    finish: () => worker.finish(topic, receipt),
    extend: () => worker.extend(topic, receipt, seconds),
    retry: () => worker.retry(topic, receipt, options),
    bury: () => worker.bury(topic, receipt, options),
  };
  try {
    return { status: 200, json: { ...(await calls[verb]()) } };
  } catch (error) {
    if (error instanceof Error && "status" in error) return { status: Number(error.status), json: {} };
    throw error;
  }
}

/** An event as Lambda's poller sends it, with only the fields that functions read. */
function messagesOf(bodies: readonly string[]): SQSEvent {
  const attributes = { ApproximateReceiveCount: "1" };
  const Records = bodies.map((body, i) => ({
    messageId: `m${i}`,
    receiptHandle: `handle-${i}`,
    body,
    attributes,
  }));
  return { Records } as SQSEvent;
}

function contextWith(remaining: number): LambdaContext {
  return { getRemainingTimeInMillis: () => remaining } as LambdaContext;
}

/** An event as API Gateway sends it, with only the fields that functions read. A `body` that is a string is sent unchanged. */
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
