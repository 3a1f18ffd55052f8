import { PRICES } from "../prices.ts";

export type Usage = {
  writeUnits: number;
  readUnits: number;
  storedGigabyteMonths: number;
  sqsRequests: number;
  invocations: number;
  gigabyteSeconds: number;
  apiCalls: number;
  scheduledInvocations: number;
  logBytes: number;
  /** What API Gateway writes into the access log. */
  accessLogBytes: number;
  /** What the HTTP API sends to callers outside of AWS. */
  sentBytes: number;
  /** What Lambda charges for starting new environments of functions. It is not a part of `gigabyteSeconds`. */
  coldGigabyteSeconds: number;
  metricHours: number;
  alarmHours: number;
  /** The part of `metricHours` for metrics that each topic has of its own. */
  topicMetricHours: number;
  /**
   * Writes and reads with a body, and the months of stored bodies, all counted above too: the calculator computes larger bodies from them.
   * A write in a transaction counts twice.
   */
  bodyWrites: number;
  bodyReads: number;
  bodyStoredMonths: number;
};

/** The usage of one workload: of one job, or of a month, as `per` says. */
export type Billed = { readonly workload: string; readonly per: "job" | "month"; readonly usage: Usage };

/** What all workloads used, and how their jobs were: the bytes of each body, and for how many days a finished job was stored. */
export type Bill = {
  readonly bodyBytes: number;
  readonly retentionDays: number;
  /** How many long polls Lambda keeps open at an idle queue. */
  readonly pollers: number;
  readonly billed: readonly Billed[];
};

export const NOTHING: Usage = {
  writeUnits: 0,
  readUnits: 0,
  storedGigabyteMonths: 0,
  sqsRequests: 0,
  invocations: 0,
  gigabyteSeconds: 0,
  apiCalls: 0,
  scheduledInvocations: 0,
  logBytes: 0,
  accessLogBytes: 0,
  sentBytes: 0,
  coldGigabyteSeconds: 0,
  metricHours: 0,
  alarmHours: 0,
  topicMetricHours: 0,
  bodyWrites: 0,
  bodyReads: 0,
  bodyStoredMonths: 0,
};

export function costOf(usage: Usage) {
  return {
    writes: usage.writeUnits * PRICES.writeUnit,
    reads: usage.readUnits * PRICES.readUnit,
    storage: usage.storedGigabyteMonths * PRICES.storedGigabyteMonth,
    backups: usage.storedGigabyteMonths * PRICES.backedUpGigabyteMonth,
    SQS: usage.sqsRequests * PRICES.sqsRequest,
    Lambda: usage.invocations * PRICES.invocation + usage.gigabyteSeconds * PRICES.gigabyteSecond,
    "cold starts": usage.coldGigabyteSeconds * PRICES.gigabyteSecond,
    "API calls": usage.apiCalls * PRICES.apiCall,
    "access log": (usage.accessLogBytes / 1e9) * PRICES.logGigabyte,
    "data out": (usage.sentBytes / 1e9) * PRICES.sentGigabyte,
    Scheduler: usage.scheduledInvocations * PRICES.scheduledInvocation,
    logs: (usage.logBytes / 1e9) * PRICES.logGigabyte,
    metrics: usage.metricHours * PRICES.metricHour,
    alarms: usage.alarmHours * PRICES.alarmHour,
  } satisfies Record<string, number>;
}

export function scaled(usage: Usage, factor: number): Usage {
  return mapped(usage, (value) => value * factor);
}

export function mapped(usage: Usage, of: (value: number) => number): Usage {
  return combined(usage, NOTHING, of);
}

export function combined(a: Usage, b: Usage, of: (a: number, b: number) => number): Usage {
  const entries = Object.keys(NOTHING).map((name) => [
    name,
    of(a[name as keyof Usage], b[name as keyof Usage]),
  ]);
  return Object.fromEntries(entries) as Usage;
}
