import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context as LambdaContext,
  SQSEvent,
} from "aws-lambda";
import { dynamoPool } from "../../aws/pool.ts";
import { schedulerPromotions } from "../../aws/promotions.ts";
import { sqsQueues } from "../../aws/queues.ts";
import { API_PATIENCE, withDeadlinePerCall } from "../../aws/write-deadlines.ts";
import type { Client } from "../../client/client.ts";
import { clientOver } from "../../client/client-over.ts";
import { consumeOn } from "../../consumer/consume.ts";
import type { Policy } from "../../core/policy.ts";
import { SIZES } from "../../core/work-sizes.ts";
import { createApp } from "../../http/app.ts";
import { serveEvents } from "../../http/lambda.ts";
import { routes } from "../../http/route-table.ts";
import { receiveRoute } from "../../http/routes/receive.ts";
import { promote } from "../../protocol/hand-over/promote.ts";
import { tick } from "../../protocol/hand-over/tick.ts";
import type { Context } from "../../protocol/ports.ts";
import type { ProtocolEvent } from "../../protocol/reports.ts";
import { type Machine, startMachine } from "../../test/sim/machine.ts";
import { type Call, clientOn, type Network } from "../../test/sim/network.ts";
import { entryOf, eventOf, type Received } from "../../test/sim/platform.ts";
import { simulatedScheduler } from "../../test/sim/services/scheduler.ts";
import { NO_TROUBLE } from "../../test/sim/services/service.ts";
import { simulatedSqs } from "../../test/sim/services/sqs.ts";
import { type Timeline, timelineFrom } from "../../test/sim/timeline.ts";
import { ASSUMED } from "./assumed.ts";
import type { Deployed } from "./deployed.ts";
import { meteredDynamo, meteredSqs, type Stored, storageOf } from "./meters.ts";
import { writtenMetrics } from "./metrics.ts";
import { NOTHING, type Usage } from "./usage.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** ms since the epoch. */
const START = Date.UTC(2026, 2, 1, 9);
/** For how long the deployed tick begins new work: ms. */
const TICK_WORKS_FOR = 160 * SECOND;
/** The longest time of a consumer's invocation: ms. */
const TIMEOUT = 60 * SECOND;
const SQS_BATCH = 10;
const VISIBILITY_SECONDS = 90;

/** A deployed queue without faults, on virtual time. All that AWS would charge for is counted. */
export type BilledQueue = {
  readonly timeline: Timeline;
  /** The context of a program inside AWS: a producer, or a worker. The time of its own process is not charged. */
  readonly program: Context;
  /** The client over HTTP. Each of its calls invokes a function of the API. */
  readonly client: Client;
  /** Answers what was used since the last call. */
  readonly bill: () => Usage;
  /** The storage of all items from now until their TTL. */
  readonly storage: () => Stored;
  /** How many jobs have been started. */
  readonly started: () => number;
};

type FunctionName = keyof Deployed["memory"];

/** Starts the queue: its tick each minute, a consumer for each Lambda topic, and its API. The handlers of jobs take no time. */
export function startBilledQueue(policy: Policy, deployed: Deployed): BilledQueue {
  const { memory } = deployed;
  const timeline = timelineFrom(START);
  const usage: Usage = { ...NOTHING };
  const metrics = writtenMetrics();
  let billedFrom = START;
  let started = 0;

  const watchers = new Map<string, () => void>();
  const dynamo = meteredDynamo(timeline.now, START - HOUR, usage);
  const plainSqs = simulatedSqs({
    clock: timeline.now,
    topics: [...Object.keys(policy.topics), "_events"],
    inFlight: () => 120_000,
    pick: () => 0,
    onVisible: (queue, time) => {
      const act = watchers.get(queue);
      if (act) timeline.at(time, act);
    },
    onSent: () => {},
    onRefused: () => {},
    unwanted: "\u0000",
  });
  const sqs = meteredSqs(plainSqs, usage);
  const hasVisible = (queue: string): boolean =>
    plainSqs.messages(queue).some(({ visibleAt }) => visibleAt <= timeline.now());
  const scheduler = simulatedScheduler({
    clock: timeline.now,
    at: timeline.at,
    firingsOf: () => [SECOND],
    fire: (_target, _name, input) => {
      usage.scheduledInvocations += 1;
      void promoted(JSON.parse(input).id);
    },
  });

  /** Until when the CPU of a machine is busy. Each request of a machine waits for the work of the requests before. */
  const busyUntil = new WeakMap<Machine, number>();
  const cores = new WeakMap<Machine, number>();
  const work = (machine: Machine, ms: number): number => {
    const until = Math.max(busyUntil.get(machine) ?? 0, timeline.now()) + ms / (cores.get(machine) ?? 1);
    busyUntil.set(machine, until);
    return until - timeline.now();
  };
  const network: Network = {
    timeline,
    seed: 0,
    fateOf: (call) => ({
      request: work(call.machine, ASSUMED.cpuMsPerRequest),
      answer: longPoll(call) ?? ASSUMED.answerMs[call.service] ?? 0,
      freeze: 0,
      entryFails: () => undefined,
    }),
    beforeEffect: () => {},
    onArrival: () => {},
  };
  /** How long a long poll waits, ms, if no message is there. `undefined`: a message is there, or the call is no long poll. */
  const longPoll = ({ operation, input }: Call): number | undefined => {
    if (operation !== "ReceiveMessage") return undefined;
    const { QueueUrl, WaitTimeSeconds = 0 } = input as { QueueUrl: string; WaitTimeSeconds?: number };
    return hasVisible(QueueUrl) || WaitTimeSeconds === 0 ? undefined : WaitTimeSeconds * SECOND;
  };

  const contextOn = (machine: Machine, report: (event: ProtocolEvent) => void): Context => ({
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
  });

  /** A Lambda function. An idle environment is used again. */
  const functionOf = <E, R>(
    name: FunctionName,
    build: (ctx: Context, machine: Machine) => (event: E) => Promise<R>,
  ): ((event: E) => Promise<R>) => {
    const idle: { machine: Machine; handle: (event: E) => Promise<R>; events: ProtocolEvent[] }[] = [];
    let count = 0;
    const fresh = () => {
      const machine = startMachine(`${name}-${++count}`, 0, 0, timeline);
      cores.set(machine, Math.min(memory[name] / ASSUMED.memoryOfOneCore, 1));
      const events: ProtocolEvent[] = [];
      return {
        machine,
        events,
        handle: build(
          contextOn(machine, (event) => void events.push(event)),
          machine,
        ),
      };
    };
    return async (event) => {
      const environment = idle.pop() ?? fresh();
      const from = timeline.now();
      await timeline.wait(work(environment.machine, ASSUMED.cpuMsPerInvocation));
      try {
        return await environment.handle(event);
      } finally {
        usage.invocations += 1;
        usage.gigabyteSeconds += ((timeline.now() - from) / SECOND) * (memory[name] / 1024);
        usage.logBytes += ASSUMED.logBytesPerInvocation + metrics.written(environment.events.splice(0));
        idle.push(environment);
      }
    };
  };

  const log = { info: () => {}, warn: () => {}, error: (text: string) => fail(text) };
  const appOf = (name: "api" | "receive", served: typeof routes) =>
    functionOf<APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2>(name, (ctx, { timers }) => {
      const { pool, begin } = withDeadlinePerCall(ctx.pool, ctx.clock, API_PATIENCE);
      const app = createApp({ ctx: { ...ctx, pool }, log, version: async () => "billed", timers }, served);
      return serveEvents(app, { begin });
    });
  const api = appOf("api", routes);
  const receive = appOf("receive", [receiveRoute]);
  let keys = 0;
  const client = clientOver({
    url: "https://billed.invalid",
    clock: timeline.now,
    newKey: () => `key-${++keys}`,
    async transport(request) {
      usage.apiCalls += 1;
      const { pathname, search } = new URL(request.url);
      const answer = await (pathname.endsWith("/receive") ? receive : api)({
        rawPath: pathname,
        rawQueryString: search.slice(1),
        headers: request.headers,
        requestContext: { http: { method: request.method } },
        body: request.body,
      } as unknown as APIGatewayProxyEventV2);
      return new Response(answer.body ?? "", { status: answer.statusCode ?? 500 });
    },
  });
  const promoted = functionOf<string, void>("promote", (ctx) => (id) => promote(ctx, id));
  const ticked = functionOf<number, void>("tick", (ctx) => (until) => tick(ctx, until));
  const nextTick = (): void => {
    void ticked(timeline.now() + TICK_WORKS_FOR);
    timeline.at(timeline.now() + MINUTE, nextTick);
  };
  timeline.at(START, nextTick);

  for (const [topic, { consumer }] of Object.entries(policy.topics)) {
    if (consumer === "pull") continue;
    const consume = functionOf("consumer", (ctx, machine) => {
      const handle = consumeOn(
        ctx,
        () => void started++,
        machine.timers,
        () => {},
      );
      return (event: SQSEvent) => {
        const deadline = timeline.now() + TIMEOUT;
        const context = { getRemainingTimeInMillis: () => deadline - timeline.now() } as LambdaContext;
        return handle(event, context);
      };
    });
    const poll = (): void => {
      const asked = {
        QueueUrl: topic,
        MaxNumberOfMessages: SQS_BATCH,
        VisibilityTimeout: VISIBILITY_SECONDS,
      };
      if (!hasVisible(topic)) return;
      const { Messages } = sqs.perform("ReceiveMessage", asked, NO_TROUBLE) as { Messages: Received[] };
      void consume(eventOf(Messages)).then(({ batchItemFailures }) => {
        if (batchItemFailures.length > 0) fail(`${batchItemFailures.length} messages of ${topic} failed`);
        sqs.perform("DeleteMessageBatch", { QueueUrl: topic, Entries: Messages.map(entryOf) }, NO_TROUBLE);
      });
      poll();
    };
    watchers.set(topic, poll);
  }

  const topics = Object.values(policy.topics);
  const lambdaTopics = topics.filter(({ consumer }) => consumer !== "pull").length;
  const alarms = deployed.alarms + (topics.length - 1) * deployed.topicAlarms;
  return {
    timeline,
    program: contextOn(startMachine("producer", 0, 0, timeline), () => {}),
    client,
    bill() {
      const seconds = (timeline.now() - billedFrom) / SECOND;
      billedFrom = timeline.now();
      const polls = (lambdaTopics * ASSUMED.pollers * seconds) / ASSUMED.pollSeconds;
      const { all, ofTopics } = metrics.count();
      const spent = {
        ...usage,
        sqsRequests: usage.sqsRequests + polls,
        // While a workload goes on, each of its metrics has a value in each hour.
        metricHours: (all * seconds * SECOND) / HOUR,
        topicMetricHours: (ofTopics * seconds * SECOND) / HOUR,
        alarmHours: (alarms * seconds * SECOND) / HOUR,
      };
      Object.assign(usage, NOTHING);
      return spent;
    },
    storage: () => storageOf(dynamo, timeline.now()),
    started: () => started,
  };
}

/** A workload without faults has no failures. The error ends the process, because nobody waits for it. */
function fail(text: string): never {
  throw new Error(`the bill would be wrong: ${text}`);
}
