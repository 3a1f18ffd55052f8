import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  SQSBatchResponse,
  SQSEvent,
} from "aws-lambda";
import { LONGEST_CHAIN } from "../../local/functions/recursive-loop.ts";
import { API_PATIENCE, withDeadlinePerCall } from "../../src/aws/deadlines.ts";
import { type ConsumerFunction, consumeOn } from "../../src/consumer/consume.ts";
import type { Job } from "../../src/consumer/consumer.ts";
import type { Post } from "../../src/consumer/webhook/call.ts";
import { webhookOn } from "../../src/consumer/webhook.ts";
import { parseMessage } from "../../src/core/message.ts";
import { parseOccurrence } from "../../src/core/occurrence.ts";
import { tickPartIn } from "../../src/core/tick-part.ts";
import { createApp } from "../../src/http/app.ts";
import { serveEvents } from "../../src/http/lambda.ts";
import { routes } from "../../src/http/route-table.ts";
import { fileOccurrence } from "../../src/protocol/file/recurring.ts";
import { promote } from "../../src/protocol/hand-over/promote.ts";
import { sweepPart, tick } from "../../src/protocol/hand-over/tick.ts";
import type { Context } from "../../src/protocol/ports.ts";
import { type Invoked, lambdaOf, type SimulatedLambda } from "./lambda.ts";
import type { Machine } from "./machine.ts";
import { NO_TROUBLE } from "./services/service.ts";
import type { World } from "./world.ts";

/** ms. */
const TIMEOUT = { api: 29_000, consumer: 60_000, tick: 180_000, scheduled: 60_000 };
/** The margin before its timeout at which functions/tick.ts stops working. ms. */
const TICK_MARGIN = 20_000;
/** ms to wait before each try of an asynchronous invocation ("Asynchronous invocation", Lambda Developer Guide). */
const ASYNC_PAUSES = [0, 60_000, 120_000];
const VISIBILITY_SECONDS = TIMEOUT.consumer / 1000 + 30;
const BATCH = 10;
const MOST_INVOCATIONS = 5;

const SECRET = "bWludXRlaGFuZCBpcyBzaW11bGF0ZWQgaGVyZQ==";

type BuildConsumer = (ctx: Context, machine: Machine) => ConsumerFunction;

export type Answer = { status: number; body: Record<string, unknown> };

/** The HTTP API as its callers see it. Answers `undefined` if no answer came. */
export type Api = (
  method: string,
  path: string,
  body?: object,
  headers?: Record<string, string>,
) => Promise<Answer | undefined>;

export function apiOf(world: World): Api {
  const lambda = apiFunction(world);
  let calls = 0;
  return async (method, path, body, headers = {}) => {
    const call = ++calls;
    const tell = world.called(method, path, body ?? {}, headers);
    const [rawPath = "", rawQueryString = ""] = path.split("?");
    world.trace(() => `call ${call}: ${method} ${path} ${JSON.stringify(body)} ${JSON.stringify(headers)}`);
    const event = {
      ...{ rawPath, rawQueryString },
      headers: { "content-type": "application/json", ...headers },
      requestContext: { http: { method } },
      ...(body && { body: JSON.stringify(body) }),
    } as unknown as APIGatewayProxyEventV2;
    const ended = await lambda(event);
    world.trace(() => `call ${call}: ${JSON.stringify(ended)}`);
    if (!("returned" in ended)) return undefined;
    const { statusCode = 0, body: text = "{}" } = ended.returned;
    const answer = { status: statusCode, body: JSON.parse(text) };
    tell(answer);
    return answer;
  };
}

function apiFunction(world: World) {
  return lambdaOf<APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2>(
    world,
    "api",
    TIMEOUT.api,
    (ctx, machine) => {
      const log = {
        info: () => {},
        warn: (message: string, extra: object) => world.trace(() => `${message} ${JSON.stringify(extra)}`),
        // An answer with status 500 is a defect even while faults happen.
        error(message: string, error: Error) {
          if (machine.alive()) world.witness.defect(`${message}: ${error.stack}`);
        },
      };
      const { pool, begin } = withDeadlinePerCall(ctx.pool, ctx.clock, API_PATIENCE);
      const { timers } = machine;
      const service = { ctx: { ...ctx, pool }, log, version: async () => "simulated", timers };
      return serveEvents(createApp(service, routes), { begin });
    },
  );
}

export function handledBy(handle: (job: Job, machine: Machine) => Promise<void>): BuildConsumer {
  return (ctx, machine) =>
    consumeOn(
      ctx,
      (job: Job) => handle(job, machine),
      machine.timers,
      () => {},
    );
}

export function calling(topic: string, post: (machine: Machine) => Post): BuildConsumer {
  return (ctx, machine) => {
    const secrets = async () => [SECRET];
    return webhookOn(ctx, { topic, secrets, post: post(machine) }, machine.timers, () => {});
  };
}

export function consumeTopic(world: World, topic: string, build: BuildConsumer): void {
  pollQueue(world, topic, {
    name: `consumer-${topic}`,
    build,
    polls: () => world.sources.polls(topic) && Object.hasOwn(world.policy.topics, topic),
    invoked(messages) {
      world.counts.invocations += 1;
      for (const { Body } of messages) world.counts.deliveries += parseMessage(Body)?.jobs.length ?? 0;
      return () => {};
    },
  });
}

type Polled = {
  name: string;
  build: BuildConsumer;
  polls?: () => boolean;
  /** Called with the messages of each invocation. The function that it answers is called with those that are done. */
  invoked?: (messages: readonly Received[]) => (done: readonly Received[]) => void;
};

/** Plays Lambda's pollers: they receive from a queue, and invoke the function with the messages. */
export function pollQueue(
  world: World,
  queue: string,
  { name, build, polls = () => true, invoked = () => () => {} }: Polled,
): void {
  const { timeline, sqs, plan } = world;
  const lambda = lambdaOf<SQSEvent, SQSBatchResponse>(world, name, TIMEOUT.consumer, build);
  const draws = world.draws(`poller-${queue}`);
  let running = 0;
  const poll = (): void => {
    const most = world.pace().slow === queue ? 1 : MOST_INVOCATIONS;
    if (running >= most || !polls()) return;
    const asked = { QueueUrl: queue, MaxNumberOfMessages: BATCH, VisibilityTimeout: VISIBILITY_SECONDS };
    const received = sqs.perform("ReceiveMessage", asked, NO_TROUBLE) as { Messages: Received[] };
    // Lambda leaves a message in the queue if it detects a loop. In the end SQS moves that message to the DLQ.
    const Messages = received.Messages.filter(({ Chain }) => Chain < LONGEST_CHAIN);
    if (Messages.length === 0) return;
    const faulty = timeline.now() < plan.calmFrom;
    // The answer of this receive is lost, but SQS has counted the receive.
    if (faulty && draws.chance(plan.lostReceive)) return;
    running += 1;
    const ended = invoked(Messages);
    const chain = Math.max(...Messages.map(({ Chain }) => Chain));
    void lambda(eventOf(Messages), chain).then((outcome) => {
      running -= 1;
      world.trace(() => `${queue}'s invocation: ${JSON.stringify(outcome)}`);
      const done = Messages.filter(({ MessageId }) => isDone(outcome, MessageId));
      ended(done);
      if (done.length > 0 && !(faulty && draws.chance(plan.lostReceive)))
        sqs.perform("DeleteMessageBatch", { QueueUrl: queue, Entries: done.map(entryOf) }, NO_TROUBLE);
      poll();
    });
    poll();
  };
  // The delay is a poller's round trip.
  world.watch(queue, () => timeline.at(timeline.now() + draws.whole(1, 10), poll));
}

export type Received = {
  MessageId: string;
  Body: string;
  ReceiptHandle: string;
  Attributes: { ApproximateReceiveCount: string; ApproximateFirstReceiveTimestamp: string };
  Chain: number;
};

export function entryOf({ MessageId, ReceiptHandle }: Received) {
  return { Id: MessageId, ReceiptHandle };
}

export function eventOf(messages: readonly Received[]): SQSEvent {
  const Records = messages.map(({ MessageId, Body, ReceiptHandle, Attributes }) => {
    return { messageId: MessageId, body: Body, receiptHandle: ReceiptHandle, attributes: Attributes };
  });
  return { Records } as unknown as SQSEvent;
}

function isDone(ended: Invoked<SQSBatchResponse>, id: string): boolean {
  if (!("returned" in ended)) return false;
  return !ended.returned.batchItemFailures.some(({ itemIdentifier }) => itemIdentifier === id);
}

/** How long Lambda takes to begin an asynchronous invocation at most. ms. */
const LATEST_PART = 10_000;
/** How often Lambda begins an asynchronous invocation twice ("Asynchronous invocation", Lambda Developer Guide). */
const TWICE = 0.1;
/** In how many histories the account has no free concurrency: Lambda accepts each such invocation, and begins none while faults last. */
const FULL = 0.2;
/** How often Lambda accepts an asynchronous invocation and begins it an hour later. */
const HOUR_LATE = 0.1;

export function tickOf(world: World): () => void {
  const { witness } = world;
  const lambda = tickFunction(world);
  const running = { ticks: 0, parts: 0 };
  const invoke = async (what: keyof typeof running, event?: string, chain?: number): Promise<void> => {
    running[what] += 1;
    const ended = await lambda(event, chain);
    if (!("returned" in ended)) witness.repeated();
    world.trace(() => `tick ${event ?? ""}: ${JSON.stringify(ended)}`);
    running[what] -= 1;
  };
  world.startPart = partsOf(world, (event, chain) => {
    if (running.ticks !== 1) witness.repeated();
    void invoke("parts", event, chain);
  });
  return () => {
    if (running.ticks + running.parts > 0) witness.repeated();
    void invoke("ticks");
  };
}

function tickFunction(world: World): SimulatedLambda<string | undefined, void> {
  return lambdaOf<string | undefined, void>(
    world,
    "tick",
    TIMEOUT.tick,
    (ctx) =>
      (event, { getRemainingTimeInMillis }) => {
        const time = Math.min(getRemainingTimeInMillis() - TICK_MARGIN, timeOfTick(world));
        const until = ctx.clock() + time;
        const part = event === undefined ? undefined : tickPartIn(JSON.parse(event));
        return part ? sweepPart(ctx, part, Math.min(part.until, until)) : tick(ctx, until);
      },
  );
}

/** Plays Lambda's asynchronous invocations of the tick: they may begin late, twice or never. */
function partsOf(world: World, begin: (event: string, chain: number) => void): World["startPart"] {
  const { timeline, plan, witness } = world;
  const draws = world.draws("parts");
  const isFull = draws.chance(FULL);
  return (event, chain, isAnswered) => {
    const isFaulty = timeline.now() < plan.calmFrom;
    if (isFaulty && isFull) return;
    const isTwice = isFaulty && draws.chance(TWICE);
    const late = isFaulty && draws.chance(HOUR_LATE) ? 60 * 60_000 : 0;
    // The tick itself sweeps the shards of an invocation of which it does not know, or that is slow to begin.
    if (isFaulty || !isAnswered) witness.repeated();
    for (let i = 0; i < (isTwice ? 2 : 1); i++)
      timeline.at(timeline.now() + late + draws.whole(0, LATEST_PART), () => begin(event, chain));
  };
}

/** For how many ms a tick may work. While faults last, some histories give ticks too little time, as a backlog would. */
function timeOfTick({ timeline, plan, stretch }: World): number {
  // In weeks a tick must also read the minutes of the left-out ticks. With little time it would never catch up.
  return timeline.now() < plan.calmFrom && !stretch.isOfWeeks ? plan.tickTime : TIMEOUT.tick;
}

/** The functions that EventBridge Scheduler invokes asynchronously: Lambda tries again after one minute, then after two. */
export function scheduleTargets(world: World): void {
  const { timeline, targets, witness } = world;
  const promoted = lambdaOf<string, void>(
    world,
    "promote",
    TIMEOUT.scheduled,
    (ctx) => (input) => promote(ctx, JSON.parse(input).id),
  );
  const occurred = lambdaOf<string, void>(world, "occurrence", TIMEOUT.scheduled, (ctx) => async (input) => {
    await fileOccurrence(ctx, parseOccurrence(JSON.parse(input)));
  });
  targets.set("promote", (_, input) => void insist(promoted, input));
  targets.set("occurrence", (name, input) => {
    const { time } = parseOccurrence(JSON.parse(input));
    witness.recurring.fired(name, time);
    void insist(occurred, input).then((worked) => worked && witness.recurring.filed(name, time));
  });

  async function insist(lambda: SimulatedLambda<string, void>, input: string): Promise<boolean> {
    for (const pause of ASYNC_PAUSES) {
      await timeline.wait(pause);
      if ("returned" in (await lambda(input))) return true;
    }
    return false;
  }
}
