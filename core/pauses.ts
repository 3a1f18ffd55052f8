import { BUCKET, READY_RETENTION } from "./constants.ts";
import type { Pause, PauseSpan } from "./items.ts";

const SPANS = 20;
/** How far apart the releases of two ticks may be: ms. */
const BETWEEN_RELEASES = 2 * BUCKET;

/** Whether all is let go that a pause held, and it only says still when it was. */
export function isOver({ expiresAt }: Pause): boolean {
  return expiresAt !== undefined;
}

/**
 * When a topic was paused before, as long as a message of then may be left, for the pause that begins `now`. Of more than twenty spans
 * the oldest become one with the time between them: rather is a late job run than one ended that was held.
 */
export function spansAfter(pause: Pause, now: number): PauseSpan[] {
  const spans = spansOf(pause, now)
    .filter(({ until }) => until > now - READY_RETENTION)
    .map((span) => ({ ...span, until: Math.min(span.until, now) }));
  const [first, ...others] = spans.splice(0, Math.max(spans.length - SPANS + 1, 1));
  if (!first) return [];
  const last = others.at(-1);
  return [last ? { since: first.since, until: last.until } : first, ...spans];
}

/** How much of the time from `start` to `now` a topic's pauses took, in ms. */
export function pausedFor(pause: Pause | undefined, start: number, now: number): number {
  if (!pause) return 0;
  return spansOf(pause, now)
    .filter(({ startsBefore = Number.POSITIVE_INFINITY }) => start < startsBefore)
    .reduce((sum, span) => sum + Math.max(Math.min(span.until, now) - Math.max(span.since, start), 0), 0);
}

/**
 * When a pause held jobs. It holds all jobs until consumers have followed its resume. A resume at a rate then holds the jobs that were
 * to start before the resume, as long as it gives starts. The next start is at `nextAt`: while ticks are missing, nobody gives any.
 * When the rate ends, `rate` is removed, and `changedAt` says when that was.
 */
function spansOf(
  { earlier = [], since, state, changedAt, rate, nextAt, liftedAt = changedAt, followedAt = liftedAt }: Pause,
  now: number,
): PauseSpan[] {
  if (state === "paused") return [...earlier, { since, until: now }];
  const given = Math.max(nextAt ?? followedAt, followedAt) + BETWEEN_RELEASES;
  const until = Math.min(rate === undefined ? changedAt : now, given);
  const paced = { since: followedAt, until, startsBefore: liftedAt };
  return [...earlier, { since, until: followedAt }, ...(paced.until > paced.since ? [paced] : [])];
}
