import { BUCKET, READY_RETENTION } from "./constants.ts";
import type { Pause, PauseSpan } from "./items.ts";

/**
 * How many earlier pauses of a topic are kept apart. More of them would make the pause's item large, and each hand-over reads this
 * item.
 */
const SPANS = 20;
/** How far apart the releases of two ticks may be, in ms. */
const BETWEEN_RELEASES = 2 * BUCKET;

/** Says whether a pause is over: all jobs that it held were sent. From then on its item only says when the topic was paused. */
export function isPauseOver({ expiresAt }: Pause): boolean {
  return expiresAt !== undefined;
}

/**
 * Answers the `earlier` of the pause that begins `now`: the times in which the topic was paused before. Pauses that ended more than
 * `READY_RETENTION` ago are left out, because the ready queue holds no message of that time. If more than `SPANS` are left, the oldest
 * become one span, and the time between them counts as paused too. So a job may seem less late than it is, and `ifLate` lets it run.
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

/** Answers how many ms a topic was paused between `start` and `now`. */
export function pausedFor(pause: Pause | undefined, start: number, now: number): number {
  if (!pause) return 0;
  return spansOf(pause, now)
    .filter(({ startsBefore = Number.POSITIVE_INFINITY }) => start < startsBefore)
    .reduce((sum, span) => sum + Math.max(Math.min(span.until, now) - Math.max(span.since, start), 0), 0);
}

/**
 * Answers the times in which a topic's jobs were held. A pause holds all jobs until consumers have followed its resume
 * (`followedAt`). A resume at a rate then holds the jobs that were to start before the resume, for as long as it gives them starts.
 * All starts before `nextAt` have been given. If ticks are missed, the resume gives no starts, and the hold ends. When the rate
 * ends, `rate` is removed and `changedAt` set.
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
