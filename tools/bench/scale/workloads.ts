import { BUCKET, MOST_IN_PACK, SQS_BATCH_ENTRIES } from "../../../src/core/constants.ts";
import type { Load } from "./jobs.ts";
import type { Scale } from "./limits.ts";
import type { Result, Scenario } from "./run.ts";

const SECOND = 1000;
const DAY_MINUTES = 1440;
const MILLION = 1e6;
const START = Date.UTC(2026, 2, 1, 9, 0, 0);

export type Workload = {
  readonly name: string;
  readonly what: string;
  /** What is wanted of the hand-over, and whether a run met it. */
  readonly aim: string;
  readonly isMet: (result: Result) => boolean;
  readonly scale: (shards: number) => Scale;
} & Pick<Scenario, "load" | "from" | "sweptAt" | "until">;

const onTime = { from: START, sweptAt: START - BUCKET };

/** Due from 5 s after a tick's limit on: only the next tick can send them, 125 s ahead: a minute later than those just before a limit. */
const BURST_AT = START + 4 * BUCKET + 5 * SECOND;

const evenly =
  (count: number): Load =>
  (minute) => ({ count, from: minute, span: BUCKET });

/** As `evenly`, but without the jobs that the ticks before the first modelled tick would have sent. */
const fromNow =
  (count: number): Load =>
  (minute) =>
    minute < START + 4 * BUCKET ? undefined : evenly(count)(minute);

const OUTAGE_A_MINUTE = Math.round((10 * MILLION) / DAY_MINUTES);

/** Jobs that start in the same second share messages, and messages of one page share requests. `seconds`: over how many seconds the jobs of the bucket are spread. */
function jobsARequest(bucket: number, seconds: number): number {
  const aSecond = Math.max(bucket / seconds, 1);
  const pack = aSecond / Math.ceil(aSecond / MOST_IN_PACK);
  return Math.min(Math.max(bucket, 1), SQS_BATCH_ENTRIES * pack);
}

/** The sweep before the outage has sent the jobs of three minutes. The modelled jobs are rounded. */
const OVERDUE = (DAY_MINUTES - 4) * OUTAGE_A_MINUTE;

export function hasCaughtUp({ overdue }: Result): boolean {
  return overdue >= OVERDUE;
}

function isInQueueBy(ms: number, { handedOver: { max } }: Result): boolean {
  return max !== null && max <= ms;
}

function isAhead(result: Result): boolean {
  return isInQueueBy(0, result);
}

export const WORKLOADS: readonly Workload[] = [
  {
    name: "second",
    what: "1 M jobs due in one second",
    aim: "all are in their queue before that second",
    isMet: isAhead,
    ...onTime,
    load: (minute) =>
      minute === BURST_AT - (BURST_AT % BUCKET)
        ? { count: MILLION, from: BURST_AT, span: SECOND }
        : undefined,
    scale: (shards) => ({ jobs: 100, jobsARequest: jobsARequest(MILLION / shards, 1) }),
    until: BURST_AT + 14 * BUCKET,
  },
  {
    name: "minute",
    what: "10 M jobs a minute, minute after minute",
    aim: "each is in its queue when it is due",
    isMet: isAhead,
    ...onTime,
    load: fromNow(10 * MILLION),
    scale: (shards) => ({ jobs: 500, jobsARequest: jobsARequest((10 * MILLION) / shards, 60) }),
    until: START + 18 * BUCKET,
  },
  {
    name: "day",
    what: "1 M jobs a day, evenly",
    aim: "each is in its queue when it is due",
    isMet: isAhead,
    ...onTime,
    load: fromNow(Math.round(MILLION / DAY_MINUTES)),
    scale: () => ({ jobs: 1, jobsARequest: 1 }),
    until: START + 18 * BUCKET,
  },
  {
    name: "outage",
    what: "10 M jobs overdue after a day without ticks, and as many new jobs a minute as before",
    aim: "all overdue jobs are in their queue within 10 minutes, and each new job within 2 s of its due time",
    isMet: (result) =>
      isInQueueBy(2 * SECOND, result) && hasCaughtUp(result) && result.caughtUpAfter <= 10 * BUCKET,
    from: START,
    sweptAt: START - DAY_MINUTES * BUCKET,
    load: evenly(OUTAGE_A_MINUTE),
    scale: (shards) => ({ jobs: 100, jobsARequest: jobsARequest(OUTAGE_A_MINUTE / shards, 60) }),
    until: START + 15 * BUCKET,
  },
];
