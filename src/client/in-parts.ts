import { BATCH_JOBS, IDEMPOTENCY_KEY_CHARS } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { chunksOf } from "../general/batches.ts";

type Results<R> = (R | MinutehandError)[];

/**
 * Makes one call for each 500 entries, in their order, and answers a result for each entry. If the first call fails, throws. If a later one fails,
 * its error is the result of each of its entries, and the calls after it are made all the same. `call` gets the idempotency key of its part.
 */
export async function inParts<T, R>(
  entries: readonly T[],
  key: string | undefined,
  call: (part: readonly T[], key: string | undefined) => Promise<Results<R>>,
): Promise<Results<R>> {
  // Plain JavaScript may give no list, which the API refuses.
  if (!Array.isArray(entries) || entries.length <= BATCH_JOBS) return call(entries, key);
  const [first = [], ...others] = chunksOf<T>(entries, BATCH_JOBS);
  const keys = others.map((_, i) => key && `${key}#${i + 2}`);
  requireShort(keys.at(-1));
  const results = await call(first, key);
  for (const [i, part] of others.entries())
    results.push(...(await outcomesOf(part, () => call(part, keys[i]))));
  return results;
}

async function outcomesOf<R>(part: readonly unknown[], call: () => Promise<Results<R>>): Promise<Results<R>> {
  try {
    return await call();
  } catch (error) {
    // An aborted call throws the reason of its signal.
    if (!(error instanceof MinutehandError)) throw error;
    return part.map(() => error);
  }
}

/** Otherwise the API would refuse the later parts, after the first ones are filed. */
function requireShort(last: string | undefined): void {
  if (last === undefined || last.length <= IDEMPOTENCY_KEY_CHARS) return;
  const most = `${IDEMPOTENCY_KEY_CHARS} characters with the number of the last part`;
  throw new MinutehandError("bad-request", `idempotencyKey must have at most ${most}, got ${last.length}`);
}
