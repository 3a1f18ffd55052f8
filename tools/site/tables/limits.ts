import {
  AUDIT_AFTER,
  BATCH_BYTES,
  BATCH_JOBS,
  BODY_BYTES,
  BODY_DEPTH,
  BUCKETS_A_PAGE,
  BULK_JOBS,
  BULK_PART,
  CHAIN_JOBS_A_DAY,
  CLOCK_MARGIN,
  DETAIL_BYTES,
  ENTRIES_A_PAGE,
  ERROR_BYTES,
  ERRORS_TOLD,
  EXPRESSION_CHARS,
  IDEMPOTENCY_KEY_CHARS,
  KEY_CHARS,
  KNOWN_CALLS,
  LIST_JOBS,
  LOG_ENTRIES,
  LONGEST_BULK,
  LONGEST_DELAY,
  LONGEST_LEASE,
  LONGEST_LIST,
  LONGEST_UNTRACKED_WAIT,
  LOOKAHEAD,
  MAX_SHARDS,
  MOST_RECEIVES,
  NEAR,
  ONCE_AFTER,
  PAGE_BYTES,
  PAUSE_KNOWN_FOR,
  PROMOTE_BEFORE,
  RATES,
  READY_RETENTION,
  REASON_BYTES,
  REASON_CHARS,
  RECEIVE_JOBS,
  RECEIVE_WAIT_SECONDS,
  SCHEDULE_INPUT_BYTES,
  STALE_AFTER,
  STARTS_AHEAD,
  UNTRACKED_AFTER,
  WRITER_DEADLINE,
} from "../../../src/core/constants.ts";
import { type ProblemCode, STATUS } from "../../../src/http/problem.ts";
import { table } from "../markdown.ts";
import { bytes, durationText, numberText } from "../units.ts";

/** The limits, each with the code of a refusal if more is refused. */
const LIMITS: readonly (readonly [what: string, limit: string, refusal?: ProblemCode])[] = [
  ["body of a job", `${bytes(BODY_BYTES)} of JSON`, "too-large"],
  ["request", `${bytes(BATCH_BYTES)}`, "too-large"],
  ["depth of JSON", `${BODY_DEPTH} levels`, "bad-request"],
  ["jobs of a batch", numberText(BATCH_JOBS), "too-many-jobs"],
  ["jobs that the handlers of a chain file on a day", numberText(CHAIN_JOBS_A_DAY), "runaway-chain"],
  [
    "runs of a job that its handler asks for on a day",
    `${numberText(CHAIN_JOBS_A_DAY)}; then the job is dead`,
  ],
  ["delay", durationText(LONGEST_DELAY), "bad-request"],
  ["options of a job", "[each with its range](configuration.md#a-job)", "bad-request"],
  ["`maxDelay`", "longer than 0; with `postpone` only", "bad-request"],
  ["`key`", `${KEY_CHARS} of \`A-Za-z0-9._~:@=+,-\``, "bad-request"],
  ["`Idempotency-Key`", `${IDEMPOTENCY_KEY_CHARS} printable ASCII characters, no comma`, "bad-request"],
  ["name of a schedule", "1–64 of `0-9A-Za-z._-`", "bad-request"],
  ["expression of a schedule", `${EXPRESSION_CHARS} characters`, "bad-request"],
  [
    "job of a schedule, as EventBridge Scheduler stores it",
    `${bytes(SCHEDULE_INPUT_BYTES)}; each \`<\` counts six bytes`,
    "too-large",
  ],
  ["range of a list or a forecast", durationText(LONGEST_LIST), "bad-request"],
  ["range of a bulk", durationText(LONGEST_BULK), "bad-request"],
  [
    "rate of a bulk, a redrive, a resume",
    `${RATES.lowest}–${numberText(RATES.highest)} a second`,
    "bad-request",
  ],
  ["page of a list", `${numberText(LIST_JOBS)} jobs`, "bad-request"],
  ["jobs of a `receive`", `${RECEIVE_JOBS}`, "bad-request"],
  ["wait of a `receive`", `${RECEIVE_WAIT_SECONDS} seconds`, "bad-request"],
  ["part of a bulk", `${BULK_JOBS} jobs, or ${durationText(BULK_PART)}; then the answer has a cursor`],
  [
    "reads for a page of a list",
    `about ${numberText(BUCKETS_A_PAGE)} buckets, ${numberText(ENTRIES_A_PAGE)} entries or ${bytes(PAGE_BYTES)}; then the answer has a cursor`,
  ],
  ["answer of a list", `about ${bytes(PAGE_BYTES)}; then it has a cursor`],
  [
    "answer to a batch or to `cancelMany`",
    `about ${bytes(PAGE_BYTES)} with all fields; then further jobs say in \`leftOut\` which fields they leave out`,
  ],
  [
    "broken rules in an error",
    `the first ${ERRORS_TOLD} in \`errors\`; \`moreErrors\` counts the others; \`detail\` has at most ${bytes(DETAIL_BYTES)}`,
  ],
  ["lease of a pulled job", `${durationText(LONGEST_LEASE)} from its claim`],
  ["`lastError`", `${ERROR_BYTES} bytes; the rest is cut off`],
  ["timeline", `the filing, and the last ${LOG_ENTRIES - 1} other entries`],
  ["`reason`", `${REASON_CHARS} characters; the first ${REASON_BYTES} bytes are stored`],
  ["`Idempotency-Key`s that a job remembers", `the last ${KNOWN_CALLS}`],
  ["shards", `${numberText(MAX_SHARDS)}; synth refuses more`],
];

const TIMES: readonly (readonly [what: string, ms: number])[] = [
  ["the sweep sends jobs that are due within", LOOKAHEAD],
  ["an enqueue sends its job at once if the job is due within", NEAR],
  ["the audit stays behind the sweep by", AUDIT_AFTER],
  ["a call issues a write at most this long after it chose the times in it", WRITER_DEADLINE],
  ["clocks may differ by", CLOCK_MARGIN],
  ["the schedule of a far job fires before the job is due by", PROMOTE_BEFORE],
  ["a rate limit books the start of a waiting job ahead by at most", STARTS_AHEAD],
  ["a process may act on the pauses that it has read for", PAUSE_KNOWN_FOR],
  ["an `Idempotency-Key` is remembered after the end of its job for", ONCE_AFTER],
  ["a ready queue keeps a message for", READY_RETENTION],
  ["an untracked job waits for its next run at most", LONGEST_UNTRACKED_WAIT],
  ["without a tick, an untracked job is lost after", UNTRACKED_AFTER],
  ["without a tick, a tracked job's look is lost after", STALE_AFTER],
];

export function limits(): string {
  const rows = LIMITS.map(([what, limit, refusal]) => [
    what,
    limit,
    refusal === undefined ? "" : `${STATUS[refusal]} \`${refusal}\``,
  ]);
  return table(["what", "limit", "more is refused with"], rows);
}

/** The table of the times that the protocol relies on, and of how often SQS delivers a message. */
export function times(): string {
  return table(
    ["what", "time"],
    [
      ...TIMES.map(([what, ms]) => [what, durationText(ms)]),
      ["SQS moves a message to the DLQ after", `${MOST_RECEIVES} receives`],
    ],
  );
}
