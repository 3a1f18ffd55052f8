import { HELD_BY_CONSUMER, MOST_RECEIVES } from "../../core/constants.ts";
import { type Message, newerMessage, parseMessage, startOf, unreadableSeconds } from "../../core/message.ts";

/** What to do with a message of a ready queue. Durations are ms. */
export type Opened =
  /** Tracked jobs are claimed. Untracked jobs start without a claim. */
  | { readonly kind: "jobs"; readonly message: Message }
  | { readonly kind: "early"; readonly message: Message; readonly hideFor: number }
  /** SQS's own redrive has brought the letter of a dead job. */
  | { readonly kind: "dead-letter"; readonly message: Message }
  /** A newer version sent it. It must outlive a rollback to this version. */
  | { readonly kind: "newer"; readonly topic: string; readonly error: string; readonly hideFor: number }
  /** Minutehand did not send it. By `maxReceiveCount` it goes to the DLQ, where people find it. */
  | { readonly kind: "foreign" };

/** `receives`: how often SQS has delivered the message, this time included. `now`: ms since the epoch. */
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

/** SQS moves the message to the DLQ after one more receive. A job of it that cannot run yet is sent in a new message. */
export function isWorn(receives: number): boolean {
  return receives >= MOST_RECEIVES - 1;
}
