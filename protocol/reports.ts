/** Why a message's claim came to nothing. */
export type DropReason = "finished" | "moved" | "gone" | "running" | "crashed" | "expired" | "paused";

/**
 * What the protocol did, for logs and metrics. Jobs are named by topic and id; bodies never appear.
 * Times are ms.
 */
export type ProtocolEvent =
  | { type: "enqueued"; topic: string; id: string; dueAt: number }
  | { type: "moved"; topic: string; id: string; dueAt: number; why: string }
  | { type: "cancelled"; topic: string; id: string }
  /** An event came before its key's job. */
  | { type: "tombstone"; topic: string; until: number }
  | { type: "handed-over"; topic: string; jobs: number; messages: number }
  | { type: "hand-over-failed"; topic: string; jobs: number; reason: string }
  /** `lateMs`: after it was due; of that a pause, a limit or a window made `heldMs`. */
  | {
      type: "started";
      topic: string;
      id: string;
      attempt: number;
      dueAt: number;
      lateMs: number;
      heldMs: number;
    }
  | { type: "paused" | "resumed"; topic: string }
  | { type: "parked" | "released" | "deferred"; topic: string; jobs: number }
  | { type: "dropped"; topic: string; id: string; reason: DropReason }
  | { type: "done"; topic: string; id: string; attempt: number }
  | { type: "failed"; topic: string; id: string; attempt: number; error: string }
  /** `hasLetter`: its message lies in the topic's DLQ. */
  | { type: "dead"; topic: string; id: string; attempt: number; error: string; hasLetter: boolean }
  | { type: "expired" | "skipped"; topic: string; id: string }
  | { type: "swept"; shard: number; entries: number; lagMs: number }
  | { type: "audited"; shard: number; entries: number; found: number }
  | { type: "trouble"; topic: string; what: string; error: string }
  /** Jobs that a newer version wrote, or that are malformed: they are left alone. `id`: one of them. */
  | { type: "unreadable"; what: string; jobs: number; id: string; error: string }
  | { type: "dead-letters-removed"; topic: string; messages: number };
