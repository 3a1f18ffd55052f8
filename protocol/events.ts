/** Why a message's claim came to nothing. */
export type DropReason = "finished" | "moved" | "gone" | "running" | "crashed" | "expired";

/**
 * What the protocol did, for logs and metrics. Jobs are named by topic and id; bodies never appear.
 * Times are ms.
 */
export type ProtocolEvent =
  | { type: "enqueued"; topic: string; id: string; dueAt: number }
  | { type: "moved"; topic: string; id: string; dueAt: number; why: string }
  | { type: "cancelled"; topic: string; id: string }
  | { type: "handed-over"; topic: string; jobs: number; messages: number }
  | { type: "hand-over-failed"; topic: string; jobs: number; reason: string }
  | { type: "started"; topic: string; id: string; attempt: number; dueAt: number; lateMs: number }
  | { type: "dropped"; topic: string; id: string; reason: DropReason }
  | { type: "done"; topic: string; id: string; attempt: number }
  | { type: "failed"; topic: string; id: string; attempt: number; error: string }
  | { type: "dead"; topic: string; id: string; attempt: number; error: string }
  | { type: "expired"; topic: string; id: string }
  | { type: "swept"; shard: number; entries: number; lagMs: number }
  | { type: "audited"; shard: number; entries: number; found: number }
  | { type: "trouble"; topic: string; what: string; error: string }
  | { type: "dead-letters-removed"; topic: string; messages: number };
