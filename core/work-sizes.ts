import {
  BODY_BYTES,
  BULK_JOBS,
  ENTRIES_A_PAGE,
  HEADERS_BYTES,
  HEALTHY_READY,
  PACK_BYTES,
  STATEMENT_BATCH,
} from "./constants.ts";

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
  /** Bytes that what the tick has read of its shards, and makes of it, may take at once, about. */
  readonly tickBytes: number;
  /** Shards that a tick sweeps or audits at once. */
  readonly shards: number;
  /** Notes of parked jobs that one read of a shard answers, and those that a release holds of all shards together, about. */
  readonly parkedPage: number;
  readonly parkedNotes: number;
  /** Jobs that one step of a release lets go. */
  readonly released: number;
  /** Receives from a DLQ in one tick, of 10 messages each. */
  readonly deadLetterBatches: number;
  /** Dead entries that one read answers. */
  readonly deadPage: number;
  /** Homes of looks that a list reads at once. */
  readonly looks: number;
  /** Homes that are read at once where nobody needs their bodies. */
  readonly heads: number;
  /** Entries after which a page of a list is short. */
  readonly listEntries: number;
  /** Jobs that one call of a bulk changes. */
  readonly bulkJobs: number;
  /** Bytes of the jobs that share a message. */
  readonly packBytes: number;
  /** Ready messages up to which a topic's consumers keep up, whatever else waits in its queue. */
  readonly healthyReady: number;
  /** Statements of one call to DynamoDB, 25 at most. */
  readonly statements: number;
};

const MIB = 1024 * 1024;
/** A home with the largest body, headers, and all else that it says. */
const LARGEST_HOME = BODY_BYTES + HEADERS_BYTES + 12 * 1024;
/** How often a home's bytes are in memory while it is handed over. */
const COPIES = 9;

/** What runs on AWS. */
export const SIZES: Sizes = {
  page: 500,
  minutes: 16,
  mark: 2000,
  // Half of the function's memory (infra/tick.ts): the rest is for the program, and for what is not collected yet.
  tickBytes: 512 * MIB,
  shards: 8,
  parkedPage: 500,
  parkedNotes: 32_000,
  released: 16,
  deadLetterBatches: 20,
  deadPage: 100,
  looks: 50,
  heads: 100,
  listEntries: ENTRIES_A_PAGE,
  bulkJobs: BULK_JOBS,
  packBytes: PACK_BYTES,
  healthyReady: HEALTHY_READY,
  statements: STATEMENT_BATCH,
};

/**
 * How many entries' jobs the tick may hold of one shard at once, each of them being as large as any. A page of homes has
 * 1 MB at most, whatever their number: that is DynamoDB's bound. But a look says nothing of its job's size.
 *
 * The sum for one shard: such entries are read while others wait in minutes that were only tried. In memory text takes two
 * bytes a character where one of it is not Latin: the waiting ones are there as text (2 copies), those in hand as DynamoDB's
 * answer, that as text, as homes, and as messages (1 + 2 + 2 + 2). Besides there are the page in hand, one that is read ahead,
 * and two more of as many minutes.
 */
export function entriesAtOnce({ tickBytes, shards }: Sizes): number {
  const share = tickBytes / shards - 4 * 2 * MIB;
  return Math.max(Math.floor(share / (COPIES * LARGEST_HOME)), 1);
}
