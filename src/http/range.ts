import { DAY, LONGEST_BULK, LONGEST_LIST } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { iso } from "../general/times.ts";
import { type BulkAction, isForDead } from "../protocol/change/begin-bulk.ts";

const HOUR = 3_600_000;

/** ms since the epoch. */
type Range = { from: number; to: number };

/** The range of a list; by default the hour from now on. Throws `bad-request` for a range that is empty or too long. */
export function rangeOf(now: number, asked: Partial<Range>): Range {
  const from = asked.from ?? now;
  return checked({ from, to: asked.to ?? from + HOUR }, LONGEST_LIST);
}

/** The range of a bulk; by default the day that begins an hour ago, for `run` the day that begins now, for dead jobs the last 366 days. Throws as `rangeOf`. */
export function bulkRangeOf(now: number, action: BulkAction, asked: Partial<Range>): Range {
  if (isForDead(action)) {
    const to = asked.to ?? now;
    return checked({ from: asked.from ?? Math.max(to - LONGEST_BULK, 0), to }, LONGEST_BULK);
  }
  const from = asked.from ?? (action === "run" ? now : now - HOUR);
  return checked({ from, to: asked.to ?? from + DAY }, LONGEST_BULK);
}

function checked({ from, to }: Range, longest: number): Range {
  if (from >= to) {
    throw new MinutehandError("bad-request", `to must be after from, got from ${iso(from)} to ${iso(to)}`);
  }
  if (to - from > longest) {
    const [most, days] = [longest / DAY, Math.ceil((100 * (to - from)) / DAY) / 100];
    throw new MinutehandError(
      "bad-request",
      `from and to must be at most ${most} days apart, got ${days} days`,
    );
  }
  return { from, to };
}
