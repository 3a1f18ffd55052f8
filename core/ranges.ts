import { earlierOf, laterOf, type Position, storedPosition } from "./position.ts";

/** A part of sorted entries: those from one position up to another. */
export type Range = { readonly from: Position; readonly to: Position };

/**
 * How far a sweep of a shard has come. All entries before `swept` are done, and so are all entries in the ranges of `ahead`. These ranges lie
 * after `swept`, are sorted, and do not touch each other.
 */
export type Done = { readonly swept: Position; readonly ahead: readonly Range[] };

/**
 * The most ranges that a cursor records, because a cursor must fit into an item of 400 KB. So many ranges appear only if thousands of minutes,
 * apart from each other, cannot be read for days. Then the earliest ranges are forgotten, and each tick hands over their entries once more.
 */
const MOST_RANGES = 4000;

/** Adds a range whose entries are done. */
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

/** Writes ranges as a text, as a cursor stores them. `undefined`: there are none. */
export function rangesText(ranges: readonly Range[]): string | undefined {
  return ranges.length === 0 ? undefined : ranges.map(({ from, to }) => `${from}\n${to}`).join("\n");
}

/** Reads the text that `rangesText` has written. */
export function storedRanges(text: string | undefined): Range[] {
  const positions = text === undefined ? [] : text.split("\n").map(storedPosition);
  return positions.flatMap((from, i) => {
    const to = positions[i + 1];
    return i % 2 === 0 && to !== undefined ? { from, to } : [];
  });
}
