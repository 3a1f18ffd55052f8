export type Plan = {
  /** How many jobs are filed in a month: 0 or more. */
  readonly jobs: number;
  /** Whether many jobs are due at the same second, or the jobs come evenly all month. */
  readonly arrival: "bursts" | "evenly";
  /** Untracked jobs have no key. */
  readonly kind: "tracked" | "keyed" | "untracked";
  /** Jobs are filed from inside AWS in batches, by an HTTP call for each job, or by HTTP calls of 500 jobs. */
  readonly filed: "inside" | "http" | "http-500";
  readonly consumer: "lambda" | "pull" | "direct";
  /** How many workers always wait for jobs, if the consumer is `pull` or `direct`: 1 or more. */
  readonly workers: number;
  /** The JSON text of each body: bytes. */
  readonly bodyBytes: number;
  /** The share of the jobs that is cancelled before it is due, by one HTTP call each: 0 to 1. */
  readonly cancelled: number;
  /** The time from filing a job until it is due: days. */
  readonly delayDays: number;
  /** The queue's `longDelay`. A job with a longer delay also gets a schedule: days. */
  readonly longDelayDays: number;
  readonly retentionDays: number;
  /** 1 or more. */
  readonly topics: number;
};
