import { WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { lastStart } from "../../core/home.ts";
import { type Home, pauseKey } from "../../core/items.ts";
import { type Period, periodOf } from "../../core/limit.ts";
import { nextOpening } from "../../cron/window.ts";
import { readPauses } from "../gate/known-pauses.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";

const TRIES = 10;
/** Starts a second. */
const LEAST_BESIDE = 1;

/**
 * The turns of jobs of a topic that is being resumed, in the order of their due times, before `bound`: there are fewer than
 * jobs where the others' turns come later. A job that would expire before its turn has none: the next job takes that turn.
 * `isPaced`: by the rate of the resume. `undefined`: it is paused again, or over and has no limit.
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
    // A tick may end the resume beside the release: the limit alone is left.
    if (pause === undefined && period) return jobs.map(({ home }) => Math.max(home.dueAt, now));
    if (pause?.state !== "resuming") return undefined;
    const { changedAt, rate, nextAt = now, followedAt = now, givenRate = 0, givenUntil = 0 } = pause;
    if (!isPaced || rate === undefined) {
      const first = period ? Math.max(followedAt, now) : now;
      return jobs.map(({ home }) => nextOpening(window, Math.max(first, home.dueAt)));
    }

    // No faster than the limit, which would leave turns unused.
    const apart = Math.max(1000 / rate, period ? period.ms / period.starts : 0);
    // Beside the starts that an earlier rate has given there is only what is left of this one, if it is worth while.
    const isBeside = rate - givenRate >= LEAST_BESIDE;
    const left = Math.max(1000 / (rate - givenRate), apart);
    const behind = (turn: number): number =>
      turn >= givenUntil ? turn + apart : Math.min(turn + left, Math.max(givenUntil, turn + apart));
    const turns: (number | undefined)[] = [];
    let next = isBeside ? Math.max(nextAt, now) : Math.max(nextAt, now, givenUntil);
    for (const { home } of jobs) {
      // The next turn counts from this one as the rate has it: those that are put off to the limit's next period lose no time.
      const own = nextOpening(window, Math.max(next, home.dueAt));
      const turn = inPeriod(own, window, period);
      if (turn >= bound) break;
      const isLate = turn > lastStart(home);
      turns.push(isLate ? undefined : Math.round(turn));
      if (!isLate) next = behind(own);
    }
    if (turns.every((turn) => turn === undefined)) return turns;
    const expect = { state: "resuming", changedAt, rate, nextAt: pause.nextAt };
    const change = { key: pauseKey(topic), expect, set: { nextAt: Math.round(next) } };
    if ((await ctx.pool.change(change, now + WRITER_DEADLINE)).changed) return turns;
  }
  throw new MinutehandError("unavailable", `the pause of topic ${topic} keeps changing; repeat the call`);
}

/**
 * A turn at the beginning of the limit's next period, if periods are longer than a second. Releases before this one, or those who hand
 * over newer jobs, may have given the start of a period that has begun, and a turn in it would be lost. Turns are at least a period
 * apart, so that no two come into one.
 */
function inPeriod(turn: number, window: string | undefined, period: Period | undefined): number {
  if (period === undefined || period.ms <= 1000) return turn;
  return nextOpening(window, Math.ceil(turn / period.ms) * period.ms);
}
