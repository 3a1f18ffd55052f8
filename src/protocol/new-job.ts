import type { IfMatch } from "../core/as-seen.ts";
import type { MinutehandError } from "../core/errors.ts";
import type { Home } from "../core/home.ts";
import type { JobOptions } from "../core/job-options.ts";

/** A job to enqueue. The caller has validated it. */
export type NewJob = JobOptions & {
  topic: string;
  /** JSON text. */
  body: string;
  /** ms since the epoch. A time in the past becomes now, and its lateness counts (`Home.askedLate`). Absent: now. */
  dueAt?: number;
  /** When the event happened that files this job: ms since the epoch, at most `EVENT_AHEAD` ahead. Absent: no event, created now. */
  createdAt?: number;
  key?: string;
  /** The chain of the job, if a handler files it: see `src/core/chain.ts`. */
  chain?: string;
  /** The caller's span: see `src/core/traceparent.ts`. Jobs of events and schedules have none. */
  traceparent?: string;
  onDuplicate?: "reject" | "keep" | "replace" | "postpone";
  /** With `postpone`: how long calls may postpone the key's job: ms from its creation, or from its last change if it has no bound yet. */
  maxDelay?: number;
  /** What the caller saw under the key. Given with `replace` only. */
  ifMatch?: IfMatch;
  /** An `Idempotency-Key`, or a token that the protocol makes for an event or an occurrence. */
  once?: {
    token: string;
    /** The hash of the request that the token came with. */
    hash: string;
    /** How long past the due time the token is remembered: ms. Absent: a day. */
    lasts?: number;
    /** Set if a batch call came with the `Idempotency-Key`, also if the batch has only one job. */
    batch?: {
      /** The token of the once item that the batch's tracked jobs without keys share. */
      token: string;
      /** The index of this job in the batch. */
      at: number;
    };
  };
  /** Why the topic's settings do not allow this job. A repeat gets the first answer all the same: the settings may have changed since. */
  refusal?: MinutehandError;
};

/** A job whose times are drawn. `wantedAt`: the time that was asked for, if it has passed, with the random part of its `spread`. */
export type TimedJob = NewJob & { dueAt: number; wantedAt?: number };

export type Enqueued = { outcome: "created" | "kept" | "replaced" | "postponed" | "replayed"; home: Home };
