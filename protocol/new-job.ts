import type { Home } from "../core/items.ts";

/** A job to enqueue, validated. Times are ms. */
export type NewJob = {
  topic: string;
  /** JSON text, as `toJson` writes it. */
  body: string;
  /** ms since the epoch; a time in the past becomes now. */
  dueAt: number;
  key?: string;
  onDuplicate?: "reject" | "keep" | "replace";
  /** Where a webhook topic's job is sent, if not to the topic's own URL. */
  callbackUrl?: string;
  headers?: Record<string, string>;
  expiresAfter?: number;
  maxAttempts?: number;
  tag?: string;
  group?: string;
  /** An `Idempotency-Key` and the hash of the request it came with. */
  once?: { token: string; hash: string };
};

export type Enqueued = { outcome: "created" | "kept" | "replaced" | "replayed"; home: Home };
