import { UsageError } from "./cli-error.ts";

/** Throws `UsageError` for a range that ends before it begins. `otherwise`: the begin of a range without `--from`, ms since the epoch. */
export function checkRange(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  otherwise = Number.NEGATIVE_INFINITY,
): void {
  if (to === undefined) return;
  const begin = from === undefined ? otherwise : Date.parse(from);
  if (Date.parse(to) > begin) return;
  throw new UsageError(`--to must be after ${from === undefined ? "now" : `--from ${from}`}, got ${to}`);
}
