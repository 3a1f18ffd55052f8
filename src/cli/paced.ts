import type { Surroundings } from "./surroundings.ts";

const SECOND = 1000;
/** How many calls are under way at once. */
const AT_ONCE = 20;

type Pace = Pick<Surroundings, "clock" | "wait"> & {
  /** How many items a second are worked on at most. */
  readonly rate: number;
};

/** Does `work` for each item, several at once, at most `rate` a second. Yields the results in the order of the items, some at a time. */
export async function* paced<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
  { rate, clock, wait }: Pace,
): AsyncIterable<Result[]> {
  for await (const some of groupsOf(items, Math.max(1, Math.min(AT_ONCE, Math.floor(rate))))) {
    const began = clock();
    yield await Promise.all(some.map(work));
    const left = began + (some.length * SECOND) / rate - clock();
    if (left > 0) await wait(left);
  }
}

async function* groupsOf<Item>(items: AsyncIterable<Item>, size: number): AsyncIterable<Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
