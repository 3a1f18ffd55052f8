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
    results.push(...(await outcomesOf(part, async () => call(part, key && (await keyOfPart(key, i + 2))))));
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
async function keyOfPart(key: string, number: number): Promise<string> {
  // The console's page calls this in a browser, which has no `node:crypto`.
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const hex = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0"));
  return `part-${number}-${hex.join("")}`;
}
