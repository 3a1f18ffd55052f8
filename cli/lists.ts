import { LIST_JOBS } from "../core/constants.ts";

/** Entries of a page, where so many are wanted and one that says that there are more. */
export function pageSizeFor(limit: number): number {
  return Math.min(limit + 1, LIST_JOBS);
}

/** The first `limit` of a list; `more` is called after them if it goes on. */
export async function* firstOf<T>(list: AsyncIterable<T>, limit: number, more: () => void): AsyncIterable<T> {
  let taken = 0;
  for await (const entry of list) {
    if (taken === limit) return more();
    taken++;
    yield entry;
  }
}

export async function allOf<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const entry of list) all.push(entry);
  return all;
}
