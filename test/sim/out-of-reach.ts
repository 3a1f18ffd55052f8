/**
 * Places that no history reaches, why, and the test of another kind that reaches the place: its file, and the first words of its title.
 * A place belongs here only if the simulator cannot have the state that leads there.
 */
export const OUT_OF_REACH: Readonly<Record<string, { why: string; test: string; title: string }>> = {
  "recovery  protocol/file/enqueue-plain.ts sendUnstored": {
    why: "a send answers each failure; only the death of a unit test's process is thrown there",
    test: "test/protocol/changed-tracking.test.ts",
    title: "runs a job whose first call died before it sent the job",
  },
  "recovery  protocol/hand-over/audit.ts keepOnceItems": {
    why: "an audit prolongs once items only in histories of weeks, of which one in a thousand has failing partitions",
    test: "test/protocol/silent-partitions.test.ts",
    title: "the partition of an Idempotency-Key whose job is late",
  },
};
