/** Hours of a month, as AWS counts them. */
export const MONTH_HOURS = 730;

/**
 * What AWS charges, in dollars: the list prices of us-east-1, without free tiers and taxes, as of 2026-11-01. Sources: the
 * services' pricing pages, aws.amazon.com/<service>/pricing.
 */
export const PRICES = {
  /** DynamoDB, on demand: a write unit, a read unit, and a GB that is stored for a month. */
  writeUnit: 0.625e-6,
  readUnit: 0.125e-6,
  storedGigabyteMonth: 0.25,
  /** SQS, a standard queue: a request. */
  sqsRequest: 0.4e-6,
  /** Lambda on arm64: an invocation, and a GB for a second. */
  invocation: 0.2e-6,
  gigabyteSecond: 13.3334e-6,
  /** API Gateway, an HTTP API: a call. */
  apiCall: 1e-6,
  /** EventBridge Scheduler: an invocation of a target. */
  scheduledInvocation: 1e-6,
  /** CloudWatch: a GB of logs; a custom metric, and an alarm, for an hour. */
  logGigabyte: 0.5,
  metricHour: 0.3 / MONTH_HOURS,
  alarmHour: 0.1 / MONTH_HOURS,
  /** Secrets Manager: a secret for an hour. */
  secretHour: 0.4 / MONTH_HOURS,
} as const;
