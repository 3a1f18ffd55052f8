import { SQS_MAX_DELAY } from "../../../src/core/constants.ts";
import { CACHE_NODES, FREE_SCHEDULED_INVOCATIONS, MONTH_HOURS, PRICES } from "../prices.ts";
import { ASSUMED } from "./assumed.ts";
import type { Plan } from "./plan.ts";

export type Alternative = {
  readonly name: string;
  /** Dollars a month, by what they are paid for. Absent: the alternative cannot wait as long as these jobs do. */
  readonly lines?: Readonly<Record<string, number>>;
  readonly counts: string;
  /** What the alternative cannot do, in a sentence or two. */
  readonly cannot: string;
};

const DAY_SECONDS = 86_400;
const MONTH_DAYS = MONTH_HOURS / 24;
/** An Express workflow runs for 5 minutes at most, a Standard one for a year ("Step Functions service quotas"). Days. */
const LONGEST_EXPRESS = 300 / DAY_SECONDS;
const LONGEST_STANDARD = 365;
/** The least memory that AWS charges for an Express workflow ("AWS Step Functions pricing"): GB. */
const EXPRESS_GIGABYTES = 64 / 1024;
/** How often Lambda polls an idle queue in a month, without a maximum concurrency. */
const POLLS_A_MONTH = (ASSUMED.pollers.unlimited * MONTH_HOURS * 3600) / ASSUMED.pollSeconds;
const SQS_BATCH = 10;
const SQS_REQUEST = 64 * 1024;
/** What a Redis needs for a waiting job beside its body: the hash of the job, and its entry in a sorted set. Assumed, in bytes. */
const REDIS_JOB = 1024;
/** AWS recommends to leave a quarter of a node's memory free ("Managing reserved memory", ElastiCache User Guide). */
const USABLE_MEMORY = 0.75;
/** A worker that moves due jobs and runs them: the smallest task of Fargate, vCPUs and GB. Two, so that one may fail. */
const WORKERS = { count: 2, cpus: 0.25, gigabytes: 0.5 };

export function alternativesTo(plan: Plan): Alternative[] {
  return [scheduler(plan), sqs(plan), standardWorkflows(plan), expressWorkflows(plan), redis(plan)];
}

const runOf = ({ jobs, cancelled }: Plan): number => jobs * (1 - cancelled);

function scheduler(plan: Plan): Alternative {
  const run = runOf(plan);
  return {
    name: "EventBridge Scheduler",
    lines: { Scheduler: run * PRICES.scheduledInvocation, Lambda: run * PRICES.invocation },
    counts: `A one-time schedule for each job starts a Lambda function. The first ${FREE_SCHEDULED_INVOCATIONS / 1e6} million starts of a month are free, which this sum leaves out.`,
    cannot:
      "It starts a job up to a minute late. It cannot list the jobs that are due, limit their rate or pause them, and a delete that comes too late does not stop the job.",
  };
}

function sqs(plan: Plan): Alternative {
  const { jobs, arrival, filed, bodyBytes, topics } = plan;
  const received = arrival === "bursts" ? SQS_BATCH : 1;
  const sent = arrival === "bursts" && filed !== "http" ? SQS_BATCH : 1;
  const requests = (batch: number): number =>
    Math.max(Math.ceil((batch * bodyBytes) / SQS_REQUEST), 1) / batch;
  const each = requests(sent) + requests(received) + 1 / received;
  return {
    name: "SQS alone",
    ...(plan.delayDays * DAY_SECONDS * 1000 <= SQS_MAX_DELAY && {
      lines: {
        SQS: (jobs * each + topics * POLLS_A_MONTH) * PRICES.sqsRequest,
        Lambda: (jobs / received) * PRICES.invocation,
      },
    }),
    counts: "A message with a delay for each job, and the polls of Lambda. Cancelled jobs are paid for too.",
    cannot: "It delays a message for 15 minutes at most. It cannot cancel, move or find a message.",
  };
}

function standardWorkflows(plan: Plan): Alternative {
  const run = runOf(plan);
  return {
    name: "Step Functions, Standard",
    ...(plan.delayDays <= LONGEST_STANDARD && {
      lines: {
        transitions: (plan.jobs + run) * PRICES.stateTransition,
        Lambda: run * PRICES.invocation,
      },
    }),
    counts:
      "Two state transitions for a job that runs: to a Wait state, and to a Task. One for a cancelled job.",
    cannot: "It waits for a year at most. It cannot move a job: stop its execution, and start another one.",
  };
}

function expressWorkflows({ jobs, delayDays }: Plan): Alternative {
  const gigabyteSeconds = jobs * delayDays * DAY_SECONDS * EXPRESS_GIGABYTES;
  return {
    name: "Step Functions, Express",
    ...(delayDays <= LONGEST_EXPRESS && {
      lines: {
        starts: jobs * PRICES.expressStart,
        waiting: gigabyteSeconds * PRICES.expressGigabyteSecond,
        Lambda: jobs * PRICES.invocation,
      },
    }),
    counts: "A workflow that waits in 64 MB of memory. Cancelled jobs are paid for too.",
    cannot:
      "It runs for 5 minutes at most, the wait included. It cannot be stopped, and a crash may run it twice.",
  };
}

function redis(plan: Plan): Alternative {
  const waiting = (plan.jobs * plan.delayDays) / MONTH_DAYS;
  const gibibytes = (waiting * (plan.bodyBytes + REDIS_JOB)) / 2 ** 30 / USABLE_MEMORY;
  const largest = CACHE_NODES[CACHE_NODES.length - 1] ?? CACHE_NODES[0];
  const node = CACHE_NODES.find((one) => one.gibibytes >= gibibytes) ?? largest;
  const shards = Math.max(Math.ceil(gibibytes / node.gibibytes), 1);
  const nodes = 2 * shards;
  const { count, cpus, gigabytes } = WORKERS;
  const worker = cpus * PRICES.fargateCpuHour + gigabytes * PRICES.fargateGigabyteHour;
  return {
    name: "A Redis that runs all month",
    lines: { nodes: nodes * node.hour * MONTH_HOURS, workers: count * worker * MONTH_HOURS },
    counts: `${nodes} nodes ${node.name} of ElastiCache for Valkey in two zones, and ${count} small workers on Fargate, however many jobs there are. The nodes hold the jobs that wait on average: the body and ${REDIS_JOB / 1024} KB for each.`,
    cannot:
      "It may lose acknowledged jobs when a node fails, because it copies them to the other node a moment later. It costs as much when no job comes, and you operate it.",
  };
}
