/** Hours of a month, as AWS counts them. */
export const MONTH_HOURS = 730;

/** Dollars: list prices of us-east-1, without free tiers and taxes, as of 2026-11-01 (aws.amazon.com/<service>/pricing). */
export const PRICES = {
  /** DynamoDB, on demand: a write unit, a read unit, and a GB that is stored for a month. */
  writeUnit: 0.625e-6,
  readUnit: 0.125e-6,
  storedGigabyteMonth: 0.25,
  /** DynamoDB, point-in-time recovery: a GB of the table for a month. */
  backedUpGigabyteMonth: 0.2,
  /** SQS, a standard queue: a request. */
  sqsRequest: 0.4e-6,
  /** Lambda on arm64: an invocation, and a GB for a second. */
  invocation: 0.2e-6,
  gigabyteSecond: 13.3334e-6,
  /** API Gateway, an HTTP API: a call. */
  apiCall: 1e-6,
  /** EventBridge Scheduler: an invocation of a target. */
  scheduledInvocation: 1e-6,
  /** Data transfer from a region to the internet: a GB ("Amazon EC2 On-Demand Pricing", data transfer). */
  sentGigabyte: 0.09,
  /** CloudWatch: a GB of logs, those of API Gateway too; a custom metric, and an alarm, for an hour. */
  logGigabyte: 0.5,
  metricHour: 0.3 / MONTH_HOURS,
  alarmHour: 0.1 / MONTH_HOURS,
  /** Secrets Manager: a secret for an hour. Only a webhook topic has one. */
  secretHour: 0.4 / MONTH_HOURS,
  /** KMS: a key for an hour, and a request. Only a queue with `encryptionKey` has one. */
  keyHour: 1 / MONTH_HOURS,
  keyRequest: 0.03e-4,
  /** X-Ray: a trace that is recorded. Only with `tracing: true`. */
  trace: 5e-6,
  /** Step Functions: a Standard transition; an Express start, and a GB-second (less after 1,000 GB-hours). As of 2026-03-14. */
  stateTransition: 25e-6,
  expressStart: 1e-6,
  expressGigabyteSecond: 16.67e-6,
  /** Fargate on arm64: a vCPU, and a GB of memory, for an hour. AWS's price list of AmazonECS, as of 2026-08-28. */
  fargateCpuHour: 0.03238,
  fargateGigabyteHour: 0.00356,
} as const;

/** How many invocations of EventBridge Scheduler are free in a month. No sum uses it ("Amazon EventBridge pricing", 2026-03-13). */
export const FREE_SCHEDULED_INVOCATIONS = 14e6;

/** ElastiCache for Valkey: GiB, and dollars an hour in us-east-1 (AmazonElastiCache's price list and pricing page, as of 2026-10-02). */
export const CACHE_NODES = [
  { name: "cache.t4g.small", gibibytes: 1.37, hour: 0.0256 },
  { name: "cache.t4g.medium", gibibytes: 3.09, hour: 0.052 },
  { name: "cache.m7g.large", gibibytes: 6.38, hour: 0.1264 },
  { name: "cache.m7g.xlarge", gibibytes: 12.93, hour: 0.252 },
  { name: "cache.r7g.xlarge", gibibytes: 26.32, hour: 0.3496 },
  { name: "cache.r7g.2xlarge", gibibytes: 52.82, hour: 0.6984 },
  { name: "cache.r7g.4xlarge", gibibytes: 105.81, hour: 1.396 },
  { name: "cache.r7g.8xlarge", gibibytes: 209.55, hour: 2.7928 },
] as const;
