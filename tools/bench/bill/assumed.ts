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
   * How many long polls Lambda keeps open at an idle queue without `maximumConcurrency`. With one it keeps 5 ("Configuring scaling behavior
   * for SQS event source mappings", Lambda Developer Guide).
   */
  pollers: 2,
  /** How long each of these polls waits: seconds. */
  pollSeconds: 20,
  /** How many bytes Lambda's own log lines of one invocation have: START, END and REPORT. */
  logBytesPerInvocation: 330,
  /** What DynamoDB adds to the size of each stored item ("Item sizes and formats", DynamoDB Developer Guide): bytes. */
  bytesPerStoredItem: 100,
} as const;
