import { lastStart } from "../../core/home.ts";
import type { Home } from "../../core/items.ts";
import { nextOpening } from "../../cron/window.ts";
import { bookStarts } from "../gate/book-starts.ts";
import { readPauses } from "../gate/known-pauses.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import type { Release } from "./release-state.ts";

/**
 * Books turns for parked jobs of a topic that is being resumed. A turn is the time (ms since the epoch) from which its job may start. The
 * jobs are sorted by due time. A job that gets no turn before `bound` and before it expires has `undefined`. Answers `undefined` instead of
 * turns if the topic is paused again, or if the resume is over and the topic has no limit.
 *
 * @param isPaced whether the jobs wait for the rate of the resume
 */
export async function bookTurns(
  ctx: Context,
  { topic, bound, turns }: Release,
  jobs: readonly { readonly home: Home }[],
  isPaced: boolean,
): Promise<(number | undefined)[] | undefined> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  const isLimited = maxPerSecond !== undefined;
  const now = ctx.clock();
  const [pause] = await readPauses(ctx, [topic]);
  // A tick may have ended the resume meanwhile. Then the limit alone says when the jobs start.
  if (pause === undefined && isLimited) return jobs.map(({ home }) => Math.max(home.dueAt, now));
  if (pause?.state !== "resuming") return undefined;
  const { rate, followedAt = now } = pause;
  if (!isPaced || rate === undefined) {
    // In a limited topic no start may lie before consumers receive again, or all jobs with such starts would begin together.
    const first = isLimited ? Math.max(followedAt, now) : now;
    return jobs.map(({ home }) => nextOpening(window, Math.max(first, home.dueAt)));
  }
  const wanted = jobs.map(({ home }) => {
    return { start: Math.max(followedAt, home.dueAt), last: lastStart(home) };
  });
  // Turns come no faster than the starts of the limit, or some turns would find no start.
  const perSecond = isLimited ? Math.min(rate, maxPerSecond) : rate;
  const limit = {
    maxPerSecond: perSecond,
    counters: "turns",
    until: bound,
    isCrowded: true,
    room: turns,
  } as const;
  return bookStarts(ctx, topic, window === undefined ? limit : { ...limit, window }, wanted);
}
