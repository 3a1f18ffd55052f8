import type { RuleEffect } from "../core/rule-effects.ts";
import type { Thrown } from "../core/thrown.ts";

/** Why a message did not start its job. */
export type DropReason = "finished" | "moved" | "gone" | "running" | "crashed" | "expired" | "paused";

/** What the protocol tells logs and metrics. Never contains a body. Times are ms since the epoch; names in `Ms` are durations in ms. */
export type ProtocolEvent =
  | { type: "enqueued"; topic: string; id: string; dueAt: number }
  | { type: "moved"; topic: string; id: string; dueAt: number; why: string }
  | { type: "cancelled"; topic: string; id: string }
  /** A cancelling event found no job: its tombstone cancels jobs that are filed under the key before `until`. */
  | { type: "tombstone"; topic: string; until: number }
  /** An event of the bus was given to the topics whose rules match it. */
  | {
      type: "event-applied";
      event: string;
      rules: readonly RuleEffect[];
    }
  | { type: "handed-over"; topic: string; jobs: number; messages: number }
  | { type: "hand-over-failed"; topic: string; jobs: number; reason: string }
  | {
      type: "started";
      topic: string;
      id: string;
      attempt: number;
      dueAt: number;
      /** How long after `dueAt` the job started. */
      lateMs: number;
      /** How much of `lateMs` lies before the last start that a pause, a limit or a window gave the job. */
      heldMs: number;
    }
  | { type: "paused" | "resumed"; topic: string }
  | { type: "parked" | "released" | "deferred"; topic: string; jobs: number }
  | { type: "dropped"; topic: string; id: string; reason: DropReason }
  | { type: "done"; topic: string; id: string; attempt: number }
  /** A handler has thrown. Reported before the failed attempt is recorded. */
  | { type: "threw"; topic: string; id: string; attempt: number; error: Thrown }
  /** `isThrottled`: the run could not begin, because the target is throttled. It is no attempt. */
  | { type: "failed"; topic: string; id: string; attempt: number; error: string; isThrottled?: true }
  /** `hasLetter`: whether the topic's DLQ has a message for the dead job. */
  | { type: "dead"; topic: string; id: string; attempt: number; error: string; hasLetter: boolean }
  | { type: "expired" | "skipped"; topic: string; id: string }
  /** The event bus has taken an event about the job, of this `detail-type`. */
  | { type: "notified"; topic: string; id: string; event: string }
  /** Events about the ends of attempts are lost: the event bus has not taken them in time. `id`: one of the jobs. */
  | { type: "not-notified"; topic: string; jobs: number; id: string; error: string }
  /** `lagMs`: how far the shard's cursor was behind `LOOKAHEAD` (180 s) from now when the sweep began. */
  | { type: "swept"; shard: number; entries: number; lagMs: number }
  /** `found`: how many jobs should have run and have not, or cannot be read. */
  | { type: "audited"; shard: number; entries: number; found: number }
  /** Occurrences of a schedule at these times are not filed. */
  | { type: "missed"; topic: string; schedule: string; times: readonly number[] }
  /** A schedule was resumed. `occurrences`: how many fell into its pause and are not filed; 1,000 or more if 1,000. */
  | { type: "skipped-in-pause"; topic: string; schedule: string; occurrences: number }
  /** Far jobs got no schedule, because the day has its `SCHEDULES_A_DAY`. The sweep sends them. */
  | { type: "unscheduled"; jobs: number }
  /** More than half of what one chain, or one job by `retryIn`, may file on a day. `id`: the first job. `jobs`: how many so far on this day. */
  | { type: "runaway"; topic: string; id: string; jobs: number }
  /** For a quarter of an hour or longer, a job could not run, because the target of its topic is throttled. `since`: when that began. */
  | { type: "throttled"; topic: string; id: string; since: number }
  /** A step failed. `what`: what the protocol was doing. `topic`: empty if the step was for no single topic. */
  | { type: "trouble"; topic: string; what: string; error: string }
  /** A newer version wrote these jobs, or they are malformed. Nobody changes them. `id`: one of them. */
  | { type: "unreadable"; what: string; jobs: number; id: string; error: string }
  | { type: "dead-letters-removed"; topic: string; messages: number };
