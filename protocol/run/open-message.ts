import { HELD_BY_CONSUMER, MOST_RECEIVES } from "../../core/constants.ts";
import { type Message, newerMessage, parseMessage, startOf, unreadableSeconds } from "../../core/message.ts";

/** What the receiver must do with a message that has come from a ready queue. Durations are ms. */
export type Opened =
  /** Its tracked jobs are claimed. Its untracked jobs start without a claim. */
  | { readonly kind: "jobs"; readonly message: Message }
  /** It came so early that it is hidden until `hideFor` is over. */
  | { readonly kind: "early"; readonly message: Message; readonly hideFor: number }
  /** Somebody redrives the letter of a dead job by SQS's own redrive. */
  | { readonly kind: "dead-letter"; readonly message: Message }
  /** A newer version sent it. It is hidden, so that it outlives a rollback to this version. */
  | { readonly kind: "newer"; readonly topic: string; readonly error: string; readonly hideFor: number }
  /** Minutehand did not send it. It stays until SQS moves it to the DLQ by `maxReceiveCount`, where people find it. */
  | { readonly kind: "foreign" };

/**
 * Reads a message of a ready queue.
 * @param receives how often SQS has delivered the message, this time included
 * @param now ms since the epoch
 */
export function openMessage(body: string, receives: number, now: number): Opened {
  const message = parseMessage(body);
  if (!message) {
    const newer = newerMessage(body);
    return newer
      ? { kind: "newer", ...newer, hideFor: unreadableSeconds(receives) * 1000 }
      : { kind: "foreign" };
  }
  if (message.dead) return { kind: "dead-letter", message };
  const early = Math.min(...message.jobs.map(startOf)) - now;
  if (message.jobs.length > 0 && early >= HELD_BY_CONSUMER) return { kind: "early", message, hideFor: early };
  return { kind: "jobs", message };
}

/** Says whether SQS moves a message to the DLQ after one more receive. A job of it that cannot run yet is sent in a new message. */
export function isWorn(receives: number): boolean {
  return receives >= MOST_RECEIVES - 1;
}
