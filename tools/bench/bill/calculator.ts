import { MONTH_HOURS } from "../prices.ts";
import { ASSUMED } from "./assumed.ts";
import written from "./bill.json" with { type: "json" };
import type { Plan } from "./plan.ts";
import { type Bill, combined, NOTHING, scaled, type Usage } from "./usage.ts";

const BILL = written as Bill;
const MONTH_DAYS = MONTH_HOURS / 24;
const MONTH_SECONDS = MONTH_HOURS * 3600;
/** DynamoDB counts a write by KB, and a read by 4 KB ("Read and write operations", DynamoDB Developer Guide). Bytes. */
const WRITE_UNIT = 1024;
const READ_UNIT = 4096;
/** SQS and an HTTP API charge one request for each part of this size: bytes ("Amazon SQS pricing", "Amazon API Gateway pricing"). */
const SQS_REQUEST = 64 * 1024;
const API_CALL = 512 * 1024;

function billed(workload: string): Usage {
  const found = BILL.billed.find((one) => one.workload === workload);
  if (!found)
    throw new Error(`the calculator needs the workload "${workload}", which the bill does not have`);
  return found.usage;
}

const sum = (...usages: readonly Usage[]): Usage =>
  usages.reduce((a, b) => combined(a, b, (one, other) => one + other), NOTHING);
const less = (usage: Usage, without: Usage): Usage => combined(usage, without, (a, b) => a - b);

const BURST = billed("tracked jobs, a burst filed in batches from inside AWS");
const IDLE = billed("an idle queue of one topic");
const FURTHER_TOPIC = less(billed("an idle queue of two topics"), IDLE);
const FAR = less(billed("far jobs"), BURST);

/** What a job of each kind uses in a burst, with a Lambda consumer. `cancelled`: filed from inside AWS and then cancelled. */
const KINDS = {
  tracked: {
    inside: BURST,
    http: billed("tracked jobs, one HTTP call each"),
    "http-500": billed("tracked jobs, HTTP calls of 500"),
    cancelled: billed("tracked jobs, filed and cancelled by id"),
  },
  keyed: {
    inside: billed("keyed jobs, filed and run"),
    http: billed("keyed jobs, one HTTP call each"),
    "http-500": billed("keyed jobs, HTTP calls of 500"),
    cancelled: billed("keyed jobs, filed and cancelled by key"),
  },
  untracked: {
    inside: billed("untracked jobs, a burst"),
    http: billed("untracked jobs, one HTTP call each"),
    "http-500": billed("untracked jobs, HTTP calls of 500"),
    // Nobody can cancel an untracked job.
    cancelled: NOTHING,
  },
} as const;
const FAR_CANCELLED = less(billed("far jobs, filed and cancelled by id"), KINDS.tracked.cancelled);

/** Tracked jobs from inside AWS with each consumer: a month without jobs, a job of a burst, and a job at each steady rate a second. */
const CONSUMERS = {
  lambda: {
    idle: IDLE,
    burst: BURST,
    steady: [
      [0.4, billed("tracked jobs, one every 2.5 s")],
      [12, billed("tracked jobs, 12 a second")],
      [40, billed("tracked jobs, 40 a second")],
    ],
  },
  pull: {
    idle: billed("an idle queue with one worker that pulls over HTTP"),
    burst: billed("tracked jobs, a burst pulled over HTTP"),
    steady: [[0.4, billed("tracked jobs, one every 2.5 s, pulled over HTTP")]],
  },
  direct: {
    idle: billed("an idle queue with one worker that pulls directly"),
    burst: billed("tracked jobs, a burst pulled directly"),
    steady: [[0.4, billed("tracked jobs, one every 2.5 s, pulled directly")]],
  },
} as const;

/** The size of a stored home, with its body and with what DynamoDB adds: bytes. In this workload no other item is stored. */
const STORED_BYTES = (BURST.storedGigabyteMonths * 1e9) / BURST.bodyStoredMonths;

/** How often Lambda polls the queue of one topic in a month. */
const POLLS_A_MONTH = (BILL.pollers * MONTH_SECONDS) / ASSUMED.pollSeconds;

type Point = { readonly jobs: number; readonly usage: Usage };

/** Answers the usage of a month of this plan. For each property of the jobs, adds a difference between two workloads of the bill. */
export function monthOf(plan: Plan): Usage {
  const { jobs, kind, filed, arrival, consumer } = plan;
  const run = kind === "untracked" ? jobs : jobs * (1 - plan.cancelled);
  const of = KINDS[kind];
  const inside = CONSUMERS[consumer];
  const filing = less(of[filed], of.inside);
  // An untracked job never gets a schedule.
  const isFar = kind !== "untracked" && plan.delayDays > plan.longDelayDays;
  const month = sum(
    arrival === "evenly" ? steadyMonth(inside, run) : sum(inside.idle, scaled(inside.burst, run)),
    furtherTopics(plan),
    furtherWorkers(plan),
    scaled(sum(less(of.inside, BURST), isFar ? FAR : NOTHING), run),
    scaled(sum(of.cancelled, isFar ? FAR_CANCELLED : NOTHING), jobs - run),
    scaled(filing, jobs),
  );
  const metricHours = month.metricHours + (plan.topics - 1) * month.topicMetricHours;
  return withBodies(withStorage({ ...month, metricHours }, plan), plan, run);
}

/** A month of jobs at a steady rate. Between the measured rates, and above the highest, each further job uses the same. */
function steadyMonth({ idle, steady }: (typeof CONSUMERS)[Plan["consumer"]], jobs: number): Usage {
  const [slowest, ...faster] = steady;
  const [none, first] = [{ jobs: 0, usage: idle }, pointAt(slowest)];
  // With one job an hour, each metric already has a value in each hour, and costs no more at higher rates.
  const { metricHours, topicMetricHours } = first.usage;
  const hourly = { ...onLine(none, first, MONTH_HOURS), metricHours, topicMetricHours };
  let [from, to]: [Point, Point] = [none, { jobs: MONTH_HOURS, usage: hourly }];
  for (const next of [first, ...faster.map(pointAt)]) if (jobs > to.jobs) [from, to] = [to, next];
  // Alarms are paid by the hour alone. A measurement may have a job more or less than its rate says: the line's slope would price alarms.
  return { ...onLine(from, to, jobs), alarmHours: idle.alarmHours };
}

function pointAt([rate, usage]: readonly [number, Usage]): Point {
  const jobs = rate * MONTH_SECONDS;
  return { jobs, usage: scaled(usage, jobs) };
}

function onLine(a: Point, b: Point, jobs: number): Usage {
  const share = (jobs - a.jobs) / (b.jobs - a.jobs);
  return combined(a.usage, b.usage, (one, other) => one + share * (other - one));
}

function furtherTopics({ topics, consumer }: Plan): Usage {
  const polls = consumer === "lambda" ? 0 : POLLS_A_MONTH;
  return scaled({ ...FURTHER_TOPIC, sqsRequests: FURTHER_TOPIC.sqsRequests - polls }, topics - 1);
}

function furtherWorkers({ workers, consumer }: Plan): Usage {
  if (consumer === "lambda") return NOTHING;
  const { idle } = CONSUMERS[consumer];
  // Lambda does not poll a pull topic, as it does in `IDLE`, so all SQS requests of `idle` are the worker's.
  return scaled({ ...less(idle, IDLE), sqsRequests: idle.sqsRequests }, workers - 1);
}

/** Adds the storage while a job waits, and the storage of finished jobs that differs from that of the bill. */
function withStorage(usage: Usage, { kind, jobs, delayDays, retentionDays }: Plan): Usage {
  // `retention` does not apply to untracked jobs, because no process records their end.
  const retained = kind === "untracked" ? 0 : jobs;
  const months = (jobs * delayDays + retained * (retentionDays - BILL.retentionDays)) / MONTH_DAYS;
  return {
    ...usage,
    // A cancelled job is a little smaller than a finished one, so a short retention could take away more than there is.
    storedGigabyteMonths: Math.max(usage.storedGigabyteMonths + (months * STORED_BYTES) / 1e9, 0),
    bodyStoredMonths: usage.bodyStoredMonths + months,
  };
}

/** A write counts the whole item: the body, and the further bytes of the bill's finished job. A body goes through SQS twice. */
function withBodies(usage: Usage, { jobs, filed, consumer, bodyBytes }: Plan, run: number): Usage {
  const more = Math.max(bodyBytes - BILL.bodyBytes, 0);
  const item = STORED_BYTES - ASSUMED.bytesPerStoredItem + more;
  const overApi = (filed === "inside" ? 0 : jobs) + (consumer === "pull" ? run : 0);
  return {
    ...usage,
    writeUnits: usage.writeUnits + usage.bodyWrites * (Math.ceil(item / WRITE_UNIT) - 1),
    readUnits: usage.readUnits + (usage.bodyReads * more) / READ_UNIT,
    storedGigabyteMonths: usage.storedGigabyteMonths + (usage.bodyStoredMonths * more) / 1e9,
    sqsRequests: usage.sqsRequests + (2 * run * more) / SQS_REQUEST,
    apiCalls: usage.apiCalls + (overApi * more) / API_CALL,
    sentBytes: usage.sentBytes + (consumer === "pull" ? run * more : 0),
  };
}
