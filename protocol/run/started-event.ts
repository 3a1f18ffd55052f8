import { type MessageJob, startOf } from "../../core/message.ts";
import type { ProtocolEvent } from "../reports.ts";

/**
 * Makes the event for logs and metrics that a job begins to run.
 * @param now ms since the epoch
 * @param lateSince since when the job is late, as its claim knew it: ms since the epoch. An untracked job is not claimed
 */
export function startedEvent(
  topic: string,
  job: MessageJob,
  now: number,
  lateSince = startOf(job),
): Extract<ProtocolEvent, { type: "started" }> {
  const { id, attempt } = job;
  const dueAt = Date.parse(job.dueAt);
  const heldMs = Math.max(Math.min(lateSince, now) - dueAt, 0);
  return { type: "started", topic, id, attempt, dueAt, lateMs: now - dueAt, heldMs };
}
