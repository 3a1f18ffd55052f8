import { Readable } from "node:stream";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { settings } from "../../../src/aws/clients.ts";
import { dynamoPool } from "../../../src/aws/pool.ts";
import { sqsQueues } from "../../../src/aws/queues.ts";
import { AUDIT_AFTER, BUCKET, LOOKAHEAD, SQS_BATCH_ENTRIES } from "../../../src/core/constants.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import { seededBytes } from "../../../src/testing/random.ts";
import { NO_TROUBLE, type Service } from "../../../test/sim/services/service.ts";
import { timelineFrom } from "../../../test/sim/timeline.ts";
import { median } from "../statistics.ts";
import { type Load, virtualJobs } from "./jobs.ts";
import type { CpuCosts } from "./lambda.ts";
import { ASSUMED } from "./limits.ts";
import { cursorsAt, policyOf } from "./run.ts";
import { modelledQueue, modelledTable, type Usage } from "./services.ts";

const NOW = Date.UTC(2026, 2, 1, 9, 0, 0);
export const SHARDS = 8;
export const JOBS = 20_000;
/** How many rounds are played. The first half does not count, because Node compiles code that runs often. */
export const ROUNDS = 6;
/** How many ticks without jobs take about as long as one tick with jobs. */
const EMPTY_TICKS = 20;

/**
 * The cost of the real tick and of the SDK, which writes and signs requests and parses answers, on this machine. Answers are recorded, so
 * no network takes time; `ASSUMED.socketCpu` is added.
 */
export async function measureCpu(): Promise<CpuCosts> {
  const [empty, sweep, audit] = [await rehearse("empty"), await rehearse("sweep"), await rehearse("audit")];
  const times: { empty: number[]; sweep: number[]; audit: number[] } = { empty: [], sweep: [], audit: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.empty.push((await empty.play(EMPTY_TICKS)) / EMPTY_TICKS);
    times.sweep.push(await sweep.play(1));
    times.audit.push(await audit.play(1));
  }
  const msOf = (what: keyof typeof times): number => median(times[what].slice(ROUNDS / 2));
  const call = msOf("empty") / empty.calls;
  const sockets = ASSUMED.socketCpu;
  return {
    call: call + sockets.call,
    swept: (msOf("sweep") - sweep.calls * call) / JOBS + sockets.read + sockets.sent,
    audited: (msOf("audit") - audit.calls * call) / JOBS + sockets.read,
  };
}

/** A tick that finds no jobs, that sends jobs which are due evenly over a minute, or that finds such jobs done. */
type Kind = "empty" | "sweep" | "audit";

/** A tick whose answers are recorded. `play` repeats the tick, and answers how much CPU time it took: ms. */
type Rehearsed = { readonly calls: number; readonly usage: Usage; play(times: number): Promise<number> };

export async function rehearse(kind: Kind): Promise<Rehearsed> {
  const minute = NOW + LOOKAHEAD - BUCKET - (kind === "audit" ? AUDIT_AFTER : 0);
  const load: Load = (start) =>
    kind !== "empty" && start === minute ? { count: JOBS, from: start, span: BUCKET } : undefined;
  const timeline = timelineFrom(NOW);
  const scale = { jobs: 1, jobsARequest: 1 } as const;
  const jobs = virtualJobs(load, SHARDS, 1);
  const usage = { readUnits: 0, writeUnits: 0, sqsRequests: 0, throttles: 0 };
  const world = { timeline, jobs, scale, usage };
  const unlimited = { admits: () => true, queueWrite: () => 0 };
  const dynamodb = modelledTable(world, unlimited);
  for (const row of cursorsAt(NOW - BUCKET, SHARDS)) dynamodb.put(row);
  const sqs = modelledQueue(world, [], { sent: () => {}, again: () => {} });
  if (kind === "audit") jobs.finishAll();

  const recorded = new Map<string, Buffer[]>();
  let calls = 0;
  const recording = recorderOf({ dynamodb, sqs }, (request, answer) => {
    calls += 1;
    recorded.set(request, [...(recorded.get(request) ?? []), answer]);
  });
  await runTick(recording);
  return {
    calls,
    usage,
    async play(times) {
      const before = process.cpuUsage();
      for (let i = 0; i < times; i++) await runTick(answererFrom(recorded));
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    },
  };
}

function answererFrom(recorded: ReadonlyMap<string, readonly Buffer[]>): Answerer {
  const asked = new Map<string, number>();
  return (request) => {
    const count = asked.get(request) ?? 0;
    asked.set(request, count + 1);
    const answer = recorded.get(request)?.[count];
    if (!answer) throw new Error(`the tick made a call that it did not make before: ${request}`);
    return answer;
  };
}

/** Answers a request, which is the name of its operation and its body. */
type Answerer = (request: string) => Buffer;

function recorderOf(
  services: { dynamodb: Service; sqs: Service },
  record: (request: string, answer: Buffer) => void,
): Answerer {
  return (request) => {
    const at = request.indexOf(" ");
    const [service, operation = ""] = request.slice(0, at).split(".");
    const input = JSON.parse(request.slice(at));
    const output = services[service === "AmazonSQS" ? "sqs" : "dynamodb"].perform(
      operation,
      input,
      NO_TROUBLE,
    );
    const answer = Buffer.from(JSON.stringify(output));
    record(request, answer);
    return answer;
  };
}

async function runTick(answer: Answerer): Promise<void> {
  const headers = { "content-type": "application/x-amz-json-1.0" };
  const handle = async (request: { headers: Record<string, string>; body: unknown }) => {
    const text =
      typeof request.body === "string" ? request.body : Buffer.from(request.body as Uint8Array).toString();
    const body = answer(`${request.headers["x-amz-target"]} ${text}`);
    return { response: { statusCode: 200, headers, body: Readable.from([body]) } };
  };
  const own = {
    ...settings(),
    region: "us-east-1",
    credentials: { accessKeyId: "none", secretAccessKey: "none" },
    requestHandler: { handle } as never,
  };
  const [dynamo, sqs] = [new DynamoDBClient(own), new SQSClient({ ...own, md5: false })];
  for (const { middlewareStack } of [dynamo, sqs]) middlewareStack.remove("loggerMiddleware");
  const clock = (): number => NOW;
  await tick(
    {
      pool: dynamoPool({ client: dynamo, table: "jobs", clock }),
      queues: sqsQueues({ client: sqs, urlPrefix: "https://sqs.us-east-1.amazonaws.com/1/jobs-" }),
      clock,
      random: seededBytes(0),
      policy: policyOf(SHARDS, SQS_BATCH_ENTRIES),
      sizes: SIZES,
      report: () => {},
    },
    Number.POSITIVE_INFINITY,
  );
}
