/** Why no history reaches a place, and the unit test that does: its file, and its title. */
type OutOfReach = { readonly why: string; readonly test?: { readonly file: string; readonly title: string } };

/** The places that no history reaches. A place belongs here only if the simulator cannot have the state that leads there. */
export const OUT_OF_REACH: Readonly<Record<string, OutOfReach>> = {
  "recovery  protocol/file/enqueue-plain.ts sendUnstored": {
    why: "a send answers its failures; it throws only if a unit test lets the process die there",
    test: {
      file: "test/protocol/changed-tracking.test.ts",
      title: "runs a job whose first call died before it sent the job, when the request is repeated",
    },
  },
  "recovery  protocol/hand-over/audit.ts keepOnceItems": {
    why: "an audit prolongs once items only in the few histories of weeks",
    test: {
      file: "test/protocol/silent-partitions.test.ts",
      title: "the partition of an Idempotency-Key whose job is late",
    },
  },
  "recovery  protocol/run/claim.ts claim": {
    why: "a known pause would have to become too old between two claims of one batch, and then be unreadable",
    test: {
      file: "test/protocol/run/void-messages.test.ts",
      title: "the jobs of a batch run although a job of a void message cannot be claimed",
    },
  },
  "recovery  protocol/send/send.ts sendTopic": { why: "nothing throws there any more: it can be deleted" },
};
