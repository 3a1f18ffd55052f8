import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context as LambdaContext,
  SQSEvent,
} from "aws-lambda";
import { API_PATIENCE, withDeadlinePerCall } from "../../../src/aws/deadlines.ts";
import { dynamoPool } from "../../../src/aws/pool.ts";
import { schedulerPromotions } from "../../../src/aws/promotions.ts";
import { sqsQueues } from "../../../src/aws/queues.ts";
import type { Client } from "../../../src/client/client.ts";
import { clientOver } from "../../../src/client/client-over.ts";
import { consumeOn } from "../../../src/consumer/consume.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { createApp } from "../../../src/http/app.ts";
import { serveEvents } from "../../../src/http/lambda.ts";
import { routes } from "../../../src/http/route-table.ts";
import { receiveRoute } from "../../../src/http/routes/receive.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import type { ProtocolEvent } from "../../../src/protocol/reports.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import { type Machine, startMachine } from "../../../test/sim/machine.ts";
import { clientOn, type Network } from "../../../test/sim/network.ts";
import { entryOf, eventOf, type Received } from "../../../test/sim/platform.ts";
import { NO_TROUBLE } from "../../../test/sim/services/service.ts";
import type { Timeline } from "../../../test/sim/timeline.ts";
import { ASSUMED } from "./assumed.ts";
import type { Deployed } from "./deployed.ts";
import type { WrittenMetrics } from "./metrics.ts";
import type { Cpus, Services } from "./services.ts";
import type { Usage } from "./usage.ts";

const SECOND = 1000;
/** The longest time of a consumer's invocation: ms. */
const TIMEOUT = 60 * SECOND;
const SQS_BATCH = 10;
const VISIBILITY_SECONDS = 90;

export type Account = {
  readonly timeline: Timeline;
  readonly policy: Policy;
  readonly deployed: Deployed;
  readonly services: Services;
  readonly cpus: Cpus;
  readonly network: Network;
  readonly usage: Usage;
  readonly metrics: WrittenMetrics;
};

export function contextOn(
  { policy, network, services }: Account,
  machine: Machine,
  report: (event: ProtocolEvent) => void,
): Context {
  const { dynamo, sqs, scheduler } = services;
  return {
    pool: dynamoPool({
      client: clientOn(network, machine, "dynamodb", dynamo),
      table: "jobs",
      clock: machine.clock,
      wait: machine.timers.wait,
      random: machine.random,
    }),
    queues: sqsQueues({ client: clientOn(network, machine, "sqs", sqs), urlPrefix: "" }),
    promotions: schedulerPromotions({
      client: clientOn(network, machine, "scheduler", scheduler),
      target: { group: "promotions", target: "promote", role: "scheduler" },
    }),
    clock: machine.clock,
    random: machine.random,
    policy,
    sizes: SIZES,
    report,
  };
}

type Build<E, R> = (ctx: Context, machine: Machine) => (event: E) => Promise<R>;

/** An environment of a function, and the events that it has not yet written to its log. */
type Environment<E, R> = {
  readonly machine: Machine;
  /** ms of the timeline, after which Lambda uses the environment no more. */
  readonly endsAt: number;
  readonly events: ProtocolEvent[];
  readonly handle: (event: E) => Promise<R>;
};

/** A Lambda function. An idle environment is used again. */
export function functionOf<E, R>(
  account: Account,
  name: keyof Deployed["memory"],
  build: Build<E, R>,
): (event: E) => Promise<R> {
  const { timeline, cpus, usage, metrics, deployed } = account;
  const gigabytes = deployed.memory[name] / 1024;
  const logged = deployed.logsInvocations(name) ? ASSUMED.logBytesPerInvocation : 0;
  let idle: { readonly environment: Environment<E, R>; readonly since: number }[] = [];
  let count = 0;
  const startNew = (): Environment<E, R> => {
    usage.coldGigabyteSeconds += (ASSUMED.coldStartMs / SECOND) * gigabytes;
    return startEnvironment(account, name, ++count, build);
  };
  return async (event) => {
    const from = timeline.now();
    idle = idle.filter(
      ({ environment, since }) => from < environment.endsAt && from < since + ASSUMED.idleEnvironmentMs,
    );
    const environment = idle.pop()?.environment ?? startNew();
    await timeline.wait(cpus.work(environment.machine, ASSUMED.cpuMsPerInvocation));
    try {
      return await environment.handle(event);
    } finally {
      usage.invocations += 1;
      usage.gigabyteSeconds += ((timeline.now() - from) / SECOND) * gigabytes;
      usage.logBytes += logged + metrics.written(environment.events.splice(0));
      idle.push({ environment, since: timeline.now() });
    }
  };
}

function startEnvironment<E, R>(
  account: Account,
  name: keyof Deployed["memory"],
  number: number,
  build: Build<E, R>,
): Environment<E, R> {
  const machine = startMachine(`${name}-${number}`, 0, 0, account.timeline);
  account.cpus.limit(machine, Math.min(account.deployed.memory[name] / ASSUMED.memoryOfOneCore, 1));
  const events: ProtocolEvent[] = [];
  const ctx = contextOn(account, machine, (event) => void events.push(event));
  const endsAt = account.timeline.now() + ASSUMED.environmentMs;
  return { machine, endsAt, events, handle: build(ctx, machine) };
}

export function startApi(account: Account): Client {
  const api = apiFunction(account, "api", routes);
  const receive = apiFunction(account, "receive", [receiveRoute]);
  let keys = 0;
  return clientOver({
    url: "https://billed.invalid",
    newKey: () => `key-${++keys}`,
    async transport(request) {
      account.usage.apiCalls += 1;
      account.usage.accessLogBytes += account.deployed.accessLogBytes;
      const { pathname, search } = new URL(request.url);
      const answer = await (pathname.endsWith("/receive") ? receive : api)({
        rawPath: pathname,
        rawQueryString: search.slice(1),
        headers: request.headers,
        requestContext: { http: { method: request.method } },
        body: request.body,
      } as unknown as APIGatewayProxyEventV2);
      account.usage.sentBytes += Buffer.byteLength(answer.body ?? "") + ASSUMED.headerBytes;
      return new Response(answer.body ?? "", { status: answer.statusCode ?? 500 });
    },
  });
}

function apiFunction(account: Account, name: "api" | "receive", served: typeof routes) {
  const log = { info: () => {}, warn: () => {}, error: (text: string) => fail(text) };
  return functionOf<APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2>(
    account,
    name,
    (ctx, { timers }) => {
      const { pool, begin } = withDeadlinePerCall(ctx.pool, ctx.clock, API_PATIENCE);
      const app = createApp({ ctx: { ...ctx, pool }, log, version: async () => "billed", timers }, served);
      return serveEvents(app, { begin });
    },
  );
}

/** Starts the consumer of a topic, whose jobs take no time. `started`: called for each of them. */
export function startConsumer(account: Account, topic: string, started: () => void): void {
  const { timeline, services } = account;
  const consume = functionOf(account, "consumer", (ctx, machine) => {
    const handle = consumeOn(ctx, started, machine.timers, () => {});
    return (event: SQSEvent) => {
      const deadline = timeline.now() + TIMEOUT;
      const context = { getRemainingTimeInMillis: () => deadline - timeline.now() } as LambdaContext;
      return handle(event, context);
    };
  });
  const asked = { QueueUrl: topic, MaxNumberOfMessages: SQS_BATCH, VisibilityTimeout: VISIBILITY_SECONDS };
  const poll = (): void => {
    if (!services.hasVisible(topic)) return;
    const { sqs } = services;
    const { Messages } = sqs.perform("ReceiveMessage", asked, NO_TROUBLE) as { Messages: Received[] };
    void consume(eventOf(Messages)).then(({ batchItemFailures }) => {
      if (batchItemFailures.length > 0) fail(`${batchItemFailures.length} messages of ${topic} failed`);
      sqs.perform("DeleteMessageBatch", { QueueUrl: topic, Entries: Messages.map(entryOf) }, NO_TROUBLE);
    });
    poll();
  };
  services.whenVisible(topic, poll);
}

/** A workload without faults has no failures. The error ends the process, because nobody waits for it. */
function fail(text: string): never {
  throw new Error(`the bill would be wrong: ${text}`);
}
