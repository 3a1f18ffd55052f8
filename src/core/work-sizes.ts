import {
  BODY_BYTES,
  BULK_JOBS,
  ENTRIES_A_COUNT,
  ENTRIES_A_PAGE,
  HEADERS_BYTES,
  HEALTHY_READY,
  PACK_BYTES,
  STATEMENT_BATCH,
} from "./constants.ts";

/**
 * How much is read, written, sent or kept at once. No promise depends on these numbers: each may be any whole number from 1. The
 * simulator draws small ones, so that 20 jobs reach code that needs thousands in production.
 */
export type Sizes = {
  /** How many entries of a bucket one read answers. */
  readonly page: number;
  /** How many minutes of a shard are read at once if they may be empty. */
  readonly minutes: number;
  /** After how many entries a sweep writes its cursor. */
  readonly mark: number;
  /** About how many bytes the entries that a tick has read, and the messages that it makes of them, may take at once. */
  readonly tickBytes: number;
  /** How many shards a tick sweeps or audits at once. */
  readonly shards: number;
  /** How long a tick sweeps and audits alone before it starts further invocations for the shards that are not done: ms. */
  readonly alone: number;
  /** How many notes of parked jobs one read of a shard answers. */
  readonly parkedPage: number;
  /** About how many notes of all shards a release holds at once. */
  readonly parkedNotes: number;
  /** How many parked jobs one step of a release sends. */
  readonly released: number;
  /** How often one tick receives from a DLQ, 10 messages each time. */
  readonly deadLetterBatches: number;
  /** How many dead entries one read answers. */
  readonly deadPage: number;
  /** How many homes of looks a list reads at once. */
  readonly looks: number;
  /** How many homes are read at once if nobody needs their bodies. */
  readonly heads: number;
  /** After how many entries a page of a list is ended early. */
  readonly listEntries: number;
  /** After how many entries a call that counts jobs is ended early. */
  readonly countEntries: number;
  /** How many jobs one call of a bulk changes. */
  readonly bulkJobs: number;
  /** How many bytes the jobs that share a message have at most. A single job may have more. */
  readonly packBytes: number;
  /** A topic's consumers count as keeping up if its ready queue has at most this many ready messages. */
  readonly healthyReady: number;
  /** How many statements one call to DynamoDB has, 25 at most. */
  readonly statements: number;
};

const MIB = 1024 * 1024;
/** The largest home: 12 KiB are for all that it holds beside its body and headers. */
const LARGEST_HOME = BODY_BYTES + HEADERS_BYTES + 12 * 1024;
/** Copies of a home in memory: as an answer, as its text, as a home and as a message. Text that is not Latin takes two bytes a character. */
const WAITING_COPIES = 2;
const HANDED_OVER_COPIES = 1 + 2 + 2 + 2;

/** The sizes on AWS. */
export const SIZES: Sizes = {
  page: 500,
  minutes: 16,
  mark: 2000,
  // Half of the function's memory (infra/tick.ts). The rest is for the program and for garbage.
  tickBytes: 512 * MIB,
  shards: 8,
  alone: 5_000,
  parkedPage: 500,
  parkedNotes: 32_000,
  released: 16,
  deadLetterBatches: 20,
  deadPage: 100,
  looks: 50,
  heads: 100,
  listEntries: ENTRIES_A_PAGE,
  countEntries: ENTRIES_A_COUNT,
  bulkJobs: BULK_JOBS,
  packBytes: PACK_BYTES,
  healthyReady: HEALTHY_READY,
  statements: STATEMENT_BATCH,
};

/** Pages of a shard in memory: the one in hand, the one read ahead, and the first pages of two minutes that are read at once. */
const PAGES = 4;
/** DynamoDB's bound of a page. As text a page takes two bytes for each character. */
const PAGE_IN_MEMORY = 2 * MIB;

/** How many entries of a shard the tick may hand over at once. As many again may wait, in minutes that might have been empty. */
export function entriesAtOnce({ tickBytes, shards }: Sizes): number {
  const share = tickBytes / shards - PAGES * PAGE_IN_MEMORY;
  return Math.max(Math.floor(share / ((WAITING_COPIES + HANDED_OVER_COPIES) * LARGEST_HOME)), 1);
}
