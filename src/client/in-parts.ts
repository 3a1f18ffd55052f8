import { createHash } from "node:crypto";
import { BATCH_JOBS } from "../core/constants.ts";
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
  const results = await call(first, key);
  for (const [i, part] of others.entries())
    results.push(...(await outcomesOf(part, () => call(part, key && keyOfPart(key, i + 2)))));
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

/** With the hash, no caller writes the key of a part by chance, and the longest key is not too long for a part. */
function keyOfPart(key: string, number: number): string {
  return `part-${number}-${createHash("sha256").update(key).digest("base64url")}`;
}
