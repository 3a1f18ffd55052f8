import { LIST_JOBS } from "../core/constants.ts";

/** The page size for a list of `limit` entries. A page has one entry more, which shows whether the list goes on. */
export function pageSizeFor(limit: number): number {
  return Math.min(limit + 1, LIST_JOBS);
}

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
