import { DAY, SCHEDULES_A_DAY } from "../../core/constants.ts";
import { schedulesKey, ttl } from "../../core/item-keys.ts";
import type { Context, Deadline, Pool } from "../ports.ts";

/** How many schedules a process books at least, so that most far jobs need no count. What it does not use is lost for the day. */
const BOOKED_AT_LEAST = 10;

/** What a process has booked for a day (ms since the epoch) and not used. `isFull`: nothing is left to book. */
type Booked = { readonly day: number; left: number; isFull: boolean };

const bookings = new WeakMap<Pool, Booked>();

/**
 * Answers how many of the `wanted` schedules may be written. All processes count in one item for each day, so no day has more than
 * `SCHEDULES_A_DAY`: docs/internals/decisions/far-jobs.md. @throws `unavailable`
 */
export async function bookSchedules(ctx: Context, wanted: number, by: Deadline): Promise<number> {
  const now = ctx.clock();
  const day = now - (now % DAY);
  const known = bookings.get(ctx.pool);
  const mine = known?.day === day ? known : { day, left: 0, isFull: false };
  bookings.set(ctx.pool, mine);
  while (mine.left < wanted && !mine.isFull) {
    const asked = Math.max(wanted - mine.left, BOOKED_AT_LEAST);
    const { booked = 0 } = await ctx.pool.count(schedulesKey(day), { booked: asked }, ttl(day + 2 * DAY), by);
    mine.left += Math.min(Math.max(SCHEDULES_A_DAY - (booked - asked), 0), asked);
    mine.isFull = booked >= SCHEDULES_A_DAY;
  }
  const given = Math.min(wanted, mine.left);
  mine.left -= given;
  return given;
}
