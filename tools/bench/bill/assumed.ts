/** What no emulator can show of AWS, ms. DynamoDB and SQS usually answer faster within a region: a real bill for Lambda is smaller. */
export const ASSUMED = {
  /** From a request to its answer, without the work of the caller's CPU. */
  answerMs: { dynamodb: 6, sqs: 12, scheduler: 30, lambda: 30 } as Readonly<Record<string, number>>,
  /** The CPU work for one request on a whole core: signing, writing and parsing. */
  cpuMsPerRequest: 0.8,
  /** The CPU work of an invocation beside its requests, on a whole core. */
  cpuMsPerInvocation: 1,
  /** A function with this much memory has a whole core ("Configure Lambda function memory", Lambda Developer Guide). MiB. */
  memoryOfOneCore: 1769,
  /**
   * How many long polls Lambda keeps open at an idle queue: five, or as few as two if the event source has no maximum concurrency
   * ("Configuring scaling behavior for SQS event source mappings", Lambda Developer Guide).
   */
  pollers: { limited: 5, unlimited: 2 },
  /** How long each of these polls waits: seconds. */
  pollSeconds: 20,
  /** How long Lambda takes to start an environment, which it charges since August 2025 ("AWS Lambda standardizes billing for INIT Phase"). */
  coldStartMs: 500,
  /** For how long Lambda uses an environment at most, and for how long an idle one stays. AWS publishes neither. */
  environmentMs: 3_600_000,
  idleEnvironmentMs: 600_000,
  /** What the value of each variable of the access log is long: bytes. Other variables have 10. */
  accessLogBytes: {
    caller: 40,
    requestId: 16,
    sourceIp: 14,
    routeKey: 13,
    httpMethod: 4,
    status: 3,
  } as Readonly<Record<string, number>>,
  /** The headers of an answer of the HTTP API: bytes. */
  headerBytes: 250,
  /** How many bytes Lambda's own log lines of one invocation have: START, END and REPORT. */
  logBytesPerInvocation: 330,
  /** What DynamoDB adds to the size of each stored item ("Item sizes and formats", DynamoDB Developer Guide): bytes. */
  bytesPerStoredItem: 100,
} as const;
