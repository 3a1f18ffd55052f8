import { earlierOf, laterOf, type Position, storedPosition } from "./position.ts";

export type Range = { readonly from: Position; readonly to: Position };

/** All entries before `swept` are done, and those in the ranges of `ahead`, which lie after `swept`, sorted, and do not touch. */
export type Done = { readonly swept: Position; readonly ahead: readonly Range[] };

/** A cursor fits into an item of 400 KB. Of more ranges the earliest are forgotten, and each tick hands their entries over again. */
const MOST_RANGES = 4000;

export function withDone({ swept, ahead }: Done, range: Range): Done {
  const next = ahead.findIndex(({ from }) => from >= range.from);
  return doneOf(swept, next === -1 ? [...ahead, range] : ahead.toSpliced(next, 0, range));
}

/** Joins ranges that touch each other or `swept`. The ranges are sorted by their beginnings. */
export function doneOf(swept: Position, ranges: readonly Range[]): Done {
  const joined: Range[] = [];
  let reached = swept;
  for (const { from, to } of ranges) {
    const last = joined.at(-1);
    if (from <= reached) reached = laterOf(reached, to);
    else if (last && from <= last.to) joined.splice(-1, 1, { from: last.from, to: laterOf(last.to, to) });
    else if (from < to) joined.push({ from, to });
  }
  return { swept: reached, ahead: joined.slice(-MOST_RANGES) };
}

/** Answers the ranges before `limit` whose entries are not done, the earliest first. */
export function gapsOf({ swept, ahead }: Done, limit: Position): Range[] {
  // rule: gaps-are-swept
  const starts = [swept, ...ahead.map(({ to }) => to)];
  const ends = [...ahead.map(({ from }) => from), limit];
  return starts.flatMap((from, i) => {
    const to = earlierOf(ends[i] ?? limit, limit);
    return from < to ? { from, to } : [];
  });
}

/** Whether no entry of a range is done. */
export function isUndone(done: Done, { from, to }: Range): boolean {
  return gapsOf(done, to).some((gap) => gap.from <= from && gap.to === to);
}

/** Answers the parts of ranges that lie in one of `within`. */
export function partsIn(ranges: readonly Range[], within: readonly Range[]): Range[] {
  return ranges.flatMap(({ from, to }) =>
    within.flatMap((bounds) => {
      const part = { from: laterOf(from, bounds.from), to: earlierOf(to, bounds.to) };
      return part.from < part.to ? part : [];
    }),
  );
}

/** The ranges as a cursor stores them. `undefined`: there are none. */
export function rangesText(ranges: readonly Range[]): string | undefined {
  return ranges.length === 0 ? undefined : ranges.map(({ from, to }) => `${from}\n${to}`).join("\n");
}

export function storedRanges(text: string | undefined): Range[] {
  const positions = text === undefined ? [] : text.split("\n").map(storedPosition);
  return positions.flatMap((from, i) => {
    const to = positions[i + 1];
    return i % 2 === 0 && to !== undefined ? { from, to } : [];
  });
}
