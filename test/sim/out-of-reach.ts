/** Why histories do not reach a place, and the unit test that does: its file, and its title. */
type OutOfReach = { readonly why: string; readonly test: { readonly file: string; readonly title: string } };

const RARE = "fewer than one in 200 histories reaches it";
const test = (file: string, title: string) => ({ file: `test/protocol/${file}`, title });

/** The places that no history reaches, or so few that a campaign of a thousand may reach none. A unit test must reach each. */
export const OUT_OF_REACH: Readonly<Record<string, OutOfReach>> = {
  "recovery  src/protocol/file/enqueue-plain.ts sendUnstored": {
    why: "a send answers its failures; it throws only if a unit test lets the process die there",
    test: test(
      "changed-tracking.test.ts",
      "runs a job whose first call died before it sent the job, when the request is repeated",
    ),
  },
  "recovery  src/protocol/hand-over/audit.ts keepOnceItems": {
    why: "an audit prolongs once items only in the few histories of weeks",
    test: test("silent-partitions.test.ts", "the partition of an Idempotency-Key whose job is late"),
  },
  "recovery  src/protocol/run/claim.ts lookAtRefused": {
    why: "a known pause must become too old between two claims of one batch, and then be unreadable",
    test: test(
      "run/void-messages.test.ts",
      "the jobs of a batch run although a job of a void message cannot be claimed",
    ),
  },
  "recovery  src/protocol/hand-over/sweep.ts giveUpOrLookAgain": {
    why: RARE,
    test: test("store/unreadable.test.ts", "a death that cannot be recorded keeps no other job waiting"),
  },
  "recovery  src/protocol/store/keys.ts lookAtKeys": {
    why: RARE,
    test: test(
      "repeated-and-late-calls.test.ts",
      "a look for one cancelled job's key that cannot be filed does not change the answers for the others",
    ),
  },
  "recovery  src/protocol/store/keys.ts releaseLeftKeys": {
    why: RARE,
    test: test(
      "silent-partitions.test.ts",
      "the partition of a key that a finished job has not released, and that is released l",
    ),
  },
  "recovery  src/protocol/file/enqueue-batch.ts storeMissing": {
    why: RARE,
    test: test(
      "file/shared-once-items.test.ts",
      "a repeat of a batch files no missing job that is overdue while",
    ),
  },
  "recovery  src/protocol/run/pull.ts giveBackUnreceived": {
    why: RARE,
    test: test("run/pull.test.ts", "a job that cannot be given back is reported"),
  },
  "recovery  src/protocol/run/pull.ts receiveMessages": {
    why: RARE,
    test: test(
      "run/pull.test.ts",
      "late jobs of a `millisecond` topic are received ten at a time, or one if the second call fails",
    ),
  },
  "recovery  src/protocol/store/dead-entry.ts removeDeadEntry": {
    why: RARE,
    test: test(
      "repeated-and-late-calls.test.ts",
      "one job that cannot be redriven does not hide how many were",
    ),
  },
};
