import { BUCKET, NO_ANSWER_AFTER } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import type { Item, Key } from "../../core/items.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { createSilences } from "./silence.ts";

/** Partitions that gave no answer to a read while other partitions did. */
const silences = createSilences(BUCKET);
const WIDTH = 8;

/**
 * Reads items as `Pool.read`, but a partition that cannot be read does not fail the others. If the items cannot be read together,
 * each partition is read by itself. Answers in the order of the keys: the item, `undefined`, or the error of its partition. If
 * these separate reads take `NO_ANSWER_AFTER` or longer and some partitions answer, the partitions that failed are not read again for a
 * minute. The same applies to a partition that is read alone.
 *
 * Only for callers that have just got an answer to another read of the pool. If all items lie in one partition, this function
 * assumes that a failure is trouble of that partition, and not of the whole pool.
 */
export async function readApart(ctx: Context, keys: readonly Key[]): Promise<(Item | undefined | Error)[]> {
  const found = new Map<Key, Item | undefined | Error>();
  for (const key of keys) {
    const last = silences.errorOf(ctx, key.pk);
    if (last) found.set(key, last);
  }
  const asked = keys.filter((key) => !found.has(key));
  const begun = ctx.clock();
  const read = async (some: readonly Key[]): Promise<void> => {
    const items = await ctx.pool.read(some);
    for (const [i, key] of some.entries()) found.set(key, items[i]);
  };
  try {
    await read(asked);
  } catch (error) {
    const partitions = Map.groupBy(asked, ({ pk }) => pk);
    const failed = new Map<string, Error>();
    const fail = (pk: string, reason: unknown): void =>
      void failed.set(pk, reason instanceof Error ? reason : new Error(messageOf(reason)));
    const isAlone = partitions.size === 1;
    const again = isAlone ? begun : ctx.clock();
    if (isAlone) for (const pk of partitions.keys()) fail(pk, error);
    else await inParallel([...partitions], WIDTH, ([pk, some]) => read(some).catch((why) => fail(pk, why)));
    // If none of several partitions can be read, the whole pool is in trouble, and may answer again at any moment.
    const isSlow = ctx.clock() - again >= NO_ANSWER_AFTER && (isAlone || failed.size < partitions.size);
    for (const [pk, reason] of failed) {
      if (isSlow) silences.note(ctx, pk, reason);
      for (const key of partitions.get(pk) ?? []) found.set(key, reason);
    }
  }
  return keys.map((key) => found.get(key));
}
