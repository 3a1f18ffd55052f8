/**
 * The ends of attempts about which a topic's `notify` puts events on the event bus, each with the `detail-type` of its event. The guide of events
 * documents source, detail-type and detail: users' rules depend on them.
 */
export const NOTICES = { completed: "JobCompleted", failed: "JobFailed", dead: "JobDead" } as const;

export type Notified = keyof typeof NOTICES;
export const NOTIFIED = Object.keys(NOTICES) as readonly Notified[];

/** The `source` of the events about the jobs of a topic. `prefix`: the queue's. It has at most 86 characters of EventBridge's 256. */
export function noticeSource(prefix: string, topic: string): string {
  return `minutehand.${prefix}.${topic}`;
}

/** The `detail` of an event. Never has the body, because a body may be a secret, and every rule of the bus can read the event. */
export type NoticeDetail = {
  /** The version of this layout. It stays the same if fields are added. */
  readonly version: 1;
  readonly id: string;
  readonly topic: string;
  /** The number of the attempt that has ended. */
  readonly attempt: number;
  /** When the end was noted, after it was recorded: ISO 8601, UTC. */
  readonly endedAt: string;
  /** Of a failed attempt and a dead job, at most 256 bytes. */
  readonly error?: string;
  // The following come from the stored job. They are absent if it has none of them, or could not be read in time.
  readonly key?: string;
  readonly tag?: string;
  readonly group?: string;
  readonly createdAt?: string;
  /** When the attempt was due. Absent from a failed attempt, because its job has the time of the next attempt already. */
  readonly dueAt?: string;
  /** Of a failed attempt: when the next one is due. */
  readonly retryAt?: string;
};
