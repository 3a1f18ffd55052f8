import type { MinutehandError } from "../core/errors.ts";
import type { Home } from "../core/items.ts";
import type { JobOptions } from "../core/job-options.ts";

/** A job to enqueue, validated. Times are ms. */
export type NewJob = JobOptions & {
  topic: string;
  /** JSON text, as `toJson` writes it. */
  body: string;
  /** ms since the epoch; a time in the past becomes now. */
  dueAt: number;
  /** ms since the epoch: when the event happened that files it, or replaces one. Absent: now. */
  createdAt?: number;
  /** The same as the event has it, which may be to come. */
  eventAt?: number;
  key?: string;
  onDuplicate?: "reject" | "keep" | "replace" | "postpone";
  /** ms after its first job was filed that postponing may put a key's job off; with `postpone` only. */
  maxDelay?: number;
  /** An `Idempotency-Key` and the hash of the request it came with. `lasts`: ms past the due time, a day if absent. */
  once?: { token: string; hash: string; lasts?: number };
  /** What its topic's settings say against it. A request that was filed before they changed is answered all the same. */
  refusal?: MinutehandError;
};

export type Enqueued = { outcome: "created" | "kept" | "replaced" | "postponed" | "replayed"; home: Home };
