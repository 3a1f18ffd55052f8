export function chunksOf<T>(items: readonly T[], count: number): T[][] {
  const chunks: T[][] = [];
  for (let i = 0; i < items.length; i += count) chunks.push(items.slice(i, i + count));
  return chunks;
}

/** Each batch has at most `count` items and `bytes` in all. An item that is too large gets its own batch. */
export function batchesOf<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  limits: { count: number; bytes: number },
): T[][] {
  const batches: T[][] = [];
  let batch: T[] = [];
  let size = 0;
  for (const item of items) {
    const itemSize = sizeOf(item);
    if (batch.length > 0 && (batch.length === limits.count || size + itemSize > limits.bytes)) {
      batches.push(batch);
      batch = [];
      size = 0;
    }
    batch.push(item);
    size += itemSize;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/**
 * Calls `work` for each item, at most `width` at a time, and answers in the order of the items. After a failure it begins no further
 * call, waits for those in flight, and then throws the first failure.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const at = next++;
      try {
        results[at] = await work(items[at] as T);
      } catch (failure) {
        failures.push(failure);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}

/** Whether `ask` answers true for any item. Does not wait for the others after the first true. */
export function anyInParallel<T>(
  items: readonly T[],
  width: number,
  ask: (item: T) => Promise<boolean>,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let isFound = false;
    const askOne = async (item: T): Promise<void> => {
      if (isFound || !(await ask(item))) return;
      isFound = true;
      resolve(true);
    };
    inParallel(items, width, askOne).then(() => resolve(false), reject);
  });
}

/**
 * Makes a function that gathers items for `work`. While a call of `work` is in flight, further items wait, and share the next call. Each
 * caller gets the answers for its own items. An error of `work` is thrown to all callers of that call.
 */
export function batchConcurrentCalls<T, R>(
  work: (items: readonly T[]) => Promise<readonly R[]>,
): (items: readonly T[]) => Promise<R[]> {
  let last: Promise<unknown> = Promise.resolve();
  let next: { items: T[]; answers: Promise<readonly R[]> } | undefined;
  return async (items) => {
    if (!next) {
      const gathered: T[] = [];
      const begin = (): Promise<readonly R[]> => {
        next = undefined;
        return work(gathered);
      };
      const answers = last.then(begin, begin);
      last = answers;
      next = { items: gathered, answers };
    }
    const { items: gathered, answers } = next;
    const from = gathered.length;
    gathered.push(...items);
    return (await answers).slice(from, from + items.length);
  };
}
