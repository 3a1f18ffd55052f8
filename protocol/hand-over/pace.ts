import { WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { lastStart } from "../../core/home.ts";
import { type Home, pauseKey } from "../../core/items.ts";
import { type Period, periodOf } from "../../core/limit.ts";
import { nextOpening } from "../../cron/window.ts";
import { readPauses } from "../gate/known-pauses.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";

/** How many times turns are reserved at most, if others change the pause each time. */
const TRIES = 10;
/** The least rate at which turns are given beside the starts of an earlier rate: starts a second. */
const LEAST_BESIDE = 1;

/**
 * Reserves turns for parked jobs of a topic that is being resumed. A turn is the time (ms since the epoch) from which its job may start.
 * Answers a turn for each job, in the order of the jobs, which are sorted by due time:
 * - fewer turns than jobs if the turns of the others would not come before `bound`
 * - `undefined` for a job that would expire before its turn: the next job takes that turn
 * - `undefined` instead of turns if the topic is paused again, or if the resume is over and the topic has no limit.
 *
 * @param isPaced whether the jobs wait for the rate of the resume
 * @throws `unavailable` if others keep changing the pause
 */
export async function reserveTurns(
  ctx: Context,
  { topic, bound }: { topic: string; bound: number },
  jobs: readonly { readonly home: Home }[],
  isPaced: boolean,
): Promise<(number | undefined)[] | undefined> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  const period = maxPerSecond === undefined ? undefined : periodOf(maxPerSecond);
  for (let i = 0; i < TRIES; i++) {
    const now = ctx.clock();
    const [pause] = await readPauses(ctx, [topic]);
    // A tick may have ended the resume meanwhile. Then the limit alone says when the jobs start.
    if (pause === undefined && period) return jobs.map(({ home }) => Math.max(home.dueAt, now));
    if (pause?.state !== "resuming") return undefined;
    const { changedAt, rate, nextAt = now, followedAt = now, givenRate = 0, givenUntil = 0 } = pause;
    if (!isPaced || rate === undefined) {
      // In a limited topic, no start may lie before the time when consumers receive again. If starts were given before that time, all
      // their jobs would begin together.
      const first = period ? Math.max(followedAt, now) : now;
      return jobs.map(({ home }) => nextOpening(window, Math.max(first, home.dueAt)));
    }

    // Turns come no faster than the starts of the limit, or some turns would find no start.
    const apart = Math.max(1000 / rate, period ? period.ms / period.starts : 0);
    // An earlier rate has given starts until `givenUntil`. Until then this rate gives only the difference between the two rates, or
    // nothing if the difference is too small.
    const isBeside = rate - givenRate >= LEAST_BESIDE;
    const apartBeside = Math.max(1000 / (rate - givenRate), apart);
    const nextAfter = (turn: number): number =>
      turn >= givenUntil ? turn + apart : Math.min(turn + apartBeside, Math.max(givenUntil, turn + apart));
    const turns: (number | undefined)[] = [];
    let next = isBeside ? Math.max(nextAt, now) : Math.max(nextAt, now, givenUntil);
    for (const { home } of jobs) {
      // The next turn is counted from `own`. A turn that is put off to the limit's next period must not delay the turns after it.
      const own = nextOpening(window, Math.max(next, home.dueAt));
      const turn = inPeriod(own, window, period);
      if (turn >= bound) break;
      const isLate = turn > lastStart(home);
      turns.push(isLate ? undefined : Math.round(turn));
      if (!isLate) next = nextAfter(own);
    }
    if (turns.every((turn) => turn === undefined)) return turns;
    // If another release has reserved turns meanwhile, `nextAt` has changed, and the turns are found anew.
    const expect = { state: "resuming", changedAt, rate, nextAt: pause.nextAt };
    const change = { key: pauseKey(topic), expect, set: { nextAt: Math.round(next) } };
    if ((await ctx.pool.change(change, now + WRITER_DEADLINE)).changed) return turns;
  }
  throw new MinutehandError("unavailable", `the pause of topic ${topic} keeps changing; repeat the call`);
}

/**
 * Puts a turn off to the beginning of the limit's next period, if periods are longer than a second. The start of a period that has begun
 * may be taken already, by an earlier release or by a newer job, and then the turn would be lost. Turns are at least a period apart, so
 * no two turns fall into one period.
 */
function inPeriod(turn: number, window: string | undefined, period: Period | undefined): number {
  if (period === undefined || period.ms <= 1000) return turn;
  return nextOpening(window, Math.ceil(turn / period.ms) * period.ms);
}
