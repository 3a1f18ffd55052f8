import { openingOf } from "../gate/start-gate.ts";
import type { Context } from "../ports.ts";

/** The starts of `count` jobs from `first` on, and the first after them: ms since the epoch. At a rate, all lie in the topic's window. */
export function startsAtRate(
  ctx: Context,
  topic: string,
  ratePerSecond: number | undefined,
  { first, count, latest = Number.POSITIVE_INFINITY }: { first: number; count: number; latest?: number },
): { starts: number[]; next: number } {
  if (ratePerSecond === undefined) return { starts: new Array<number>(count).fill(first), next: first };
  const starts: number[] = [];
  let next = first;
  for (; starts.length < count; next += 1000 / ratePerSecond) {
    next = openingOf(ctx, topic, next);
    starts.push(Math.round(Math.min(next, latest)));
  }
  return { starts, next: Math.min(next, latest) };
}
