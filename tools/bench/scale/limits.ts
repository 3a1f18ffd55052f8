/** Times are ms, and rates for a second. Quotas are AWS's published defaults; `ASSUMED` has what AWS does not publish. */
export const AWS = {
  /** "Partitions and data distribution", DynamoDB Developer Guide. */
  partition: { read: 3000, write: 1000 },
  /** A new on-demand table ("Understanding DynamoDB warm throughput"): 12,000 reads and 4,000 writes. */
  newTablePartitions: 4,
  /** A strongly consistent read unit has 4 KB, a write unit 1 KB, and a page of a query has at most 1 MB. Bytes. */
  readUnitBytes: 4096,
  pageBytes: 1024 * 1024,
  /** "Configure Lambda function memory": a function with this much memory has a whole core. MiB. */
  memoryOfOneCore: 1769,
  /** "Lambda scaling behavior": how many further environments each function gets in ten seconds. */
  environmentsInTenSeconds: 1000,
  /** "Configuring scaling behavior for SQS event source mappings", without provisioned pollers: invocations at once, and more a minute. */
  mapping: { first: 5, aMinute: 300, most: 1250 },
  /** With provisioned pollers: what one serves at once and receives a second, more invocations a minute, and the most invocations. */
  poller: { invocations: 10, receives: 10, aMinute: 1000, most: 20_000 },
  /** "Amazon SQS message quotas": how many messages of a standard queue are in flight at most. */
  inFlight: 120_000,
} as const;

export const ASSUMED = {
  /** From a request until its answer, without the work of the caller's CPU: the values of the bill (`tools/bench/bill/assumed.ts`). */
  answer: { dynamodb: 6, sqs: 12 },
  /** How many times as long one answer in a hundred takes. */
  slowAnswer: 5,
  /**
   * Sockets and TLS on a whole core, which the measured costs lack: a call, a read job, a sent job. `npm run scale -- --check` showed about
   * 0.35 ms for a call and 15 µs for a job without TLS.
   */
  socketCpu: { call: 0.45, read: 0.01, sent: 0.005 },
  /** From a call that invokes a function asynchronously until its answer. */
  invoke: 30,
  /** Until a new environment of a function runs its first invocation. */
  coldStart: 500,
  /** From a message being visible until its consumer's code runs, in an environment that is there. */
  delivery: 30,
  handler: 100,
  /** The memory of the consumer's function. MiB. */
  consumerMemory: 256,
  /** How long a partition is throttled before DynamoDB splits it. AWS publishes no time. */
  splitAfter: 5 * 60_000,
} as const;

export type Setup = {
  readonly name: string;
  /** How many partitions the table has at the beginning: its warm throughput in thousands of write units. */
  readonly partitions: number;
  /** How many invocations the topic's consumer has at most: its `maximumConcurrency`. */
  readonly invocations: number;
};

/**
 * `new`: a table as the construct deploys it, and a small `maximumConcurrency`. `warm`: the same after `minutehand warm` and with
 * `maximumConcurrency`, and raised quotas.
 */
export const SETUPS: readonly Setup[] = [
  { name: "new", partitions: AWS.newTablePartitions, invocations: 100 },
  { name: "warm", partitions: 500, invocations: 1000 },
];

/** The pollers and the account's concurrency in the runs that the tables call "start with provisioned pollers". */
export const PROVISIONED = { pollers: 200, invocations: 10_000 } as const;

/** The tick's function (infra/tick.ts): MiB, and ms. */
export const TICK = { memory: 1024, timeout: 180_000, margin: 20_000 } as const;

/**
 * `jobs`: how many jobs of its bucket a modelled job stands for: a page has fewer, and each costs more. `jobsARequest`: how many jobs a
 * request to SQS carries, up to ten packs of ten.
 */
export type Scale = { readonly jobs: 1 | 10 | 100 | 500; readonly jobsARequest: number };
