import { MinutehandError } from "../core/errors.ts";
import { LONGEST_SPAN } from "../protocol/list.ts";
import { iso } from "./instants.ts";

const HOUR = 3_600_000;

/** From now, for an hour, where not said. ms since the epoch. Throws `bad-request`. */
export function rangeOf(now: number, asked: { from?: number; to?: number }): { from: number; to: number } {
  const from = asked.from ?? now;
  const to = asked.to ?? from + HOUR;
  if (from >= to) {
    throw new MinutehandError("bad-request", `to must be after from, got from ${iso(from)} to ${iso(to)}`);
  }
  if (to - from > LONGEST_SPAN) {
    const days = (to - from) / (24 * HOUR);
    throw new MinutehandError("bad-request", `from and to must be at most 31 days apart, got ${days} days`);
  }
  return { from, to };
}
