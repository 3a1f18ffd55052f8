import { BULK_JOBS, ENTRIES_A_PAGE, PACK_BYTES, STATEMENT_BATCH } from "./constants.ts";

/**
 * How much is read, written, sent or kept at once. No promise depends on these numbers: each may be any whole number of 1
 * or more. They are values of the context, so that the simulator can draw small ones, and 20 jobs meet what takes
 * thousands in production.
 */
export type Sizes = {
  /** Entries of a bucket that one read answers. */
  readonly page: number;
  /** Minutes of a shard that are looked into at once where they may be empty. */
  readonly minutes: number;
  /** Entries that a sweep goes through between two writes of its cursor. */
  readonly mark: number;
  /** Notes of parked jobs that one read of a shard answers, and jobs that one step of a release lets go. */
  readonly parkedPage: number;
  readonly released: number;
  /** Receives from a DLQ in one tick, of 10 messages each. */
  readonly deadLetterBatches: number;
  /** Dead entries that one read answers. */
  readonly deadPage: number;
  /** Homes of looks that a list reads at once. */
  readonly looks: number;
  /** Entries after which a page of a list is short. */
  readonly listEntries: number;
  /** Jobs that one call of a bulk changes. */
  readonly bulkJobs: number;
  /** Bytes of the jobs that share a message. */
  readonly packBytes: number;
  /** Statements of one call to DynamoDB, 25 at most. */
  readonly statements: number;
};

/** What runs on AWS. */
export const SIZES: Sizes = {
  page: 500,
  minutes: 16,
  mark: 2000,
  parkedPage: 100,
  released: 1000,
  deadLetterBatches: 20,
  deadPage: 100,
  looks: 50,
  listEntries: ENTRIES_A_PAGE,
  bulkJobs: BULK_JOBS,
  packBytes: PACK_BYTES,
  statements: STATEMENT_BATCH,
};
