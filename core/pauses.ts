import { READY_RETENTION } from "./constants.ts";
import type { Pause, PauseSpan } from "./items.ts";

const SPANS = 10;

/** Whether all is let go that a pause held, and it only says still when it was. */
export function isOver({ expiresAt }: Pause): boolean {
  return expiresAt !== undefined;
}

/**
 * When a topic was paused before, as long as a message of then may be left, for the pause that replaces one that is over. Of more
 * than ten the oldest two become one with the time between them: rather is a late job run than one ended that was held.
 */
export function spansAfter(pause: Pause, now: number): PauseSpan[] {
  const spans = spansOf(pause, now).filter((span) => span.until > now - READY_RETENTION);
  const [first, second, ...others] = spans;
  if (!first || !second || spans.length <= SPANS) return spans;
  return [{ since: first.since, until: second.until }, ...others];
}

/** How much of the time from `start` to `now` a topic's pauses took, in ms. */
export function pausedFor(pause: Pause | undefined, start: number, now: number): number {
  if (!pause) return 0;
  return spansOf(pause, now).reduce(
    (sum, span) => sum + Math.max(Math.min(span.until, now) - Math.max(span.since, start), 0),
    0,
  );
}

/** A resume holds nothing but what has a start of its own, once consumers have followed it. */
function spansOf(
  { earlier = [], since, state, changedAt, liftedAt = changedAt, followedAt = liftedAt }: Pause,
  now: number,
): PauseSpan[] {
  return [...earlier, { since, until: state === "paused" ? now : followedAt }];
}
