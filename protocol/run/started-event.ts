import type { MessageJob } from "../../core/message.ts";
import { lastKnown, lateSince } from "../gate/known-pauses.ts";
import type { Context } from "../ports.ts";
import type { ProtocolEvent } from "../reports.ts";

/** The claim has just read the topic's pause. `now`: ms since the epoch. */
export function startedEvent(
  ctx: Context,
  topic: string,
  job: MessageJob,
  now: number,
): Extract<ProtocolEvent, { type: "started" }> {
  const { id, attempt } = job;
  const dueAt = Date.parse(job.dueAt);
  const heldMs = Math.max(Math.min(lateSince(lastKnown(ctx, topic), job), now) - dueAt, 0);
  return { type: "started", topic, id, attempt, dueAt, lateMs: now - dueAt, heldMs };
}
