import { BUCKET, NO_ANSWER_AFTER } from "../../core/constants.ts";
import { asError } from "../../core/errors.ts";
import type { Item, Key } from "../../core/items.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { createSilences } from "./silence.ts";

/** `unknown`: the read failed, so the item may exist or not. */
export type Read<T> =
  | { readonly is: "found"; readonly value: T }
  | { readonly is: "nothing" }
  | { readonly is: "unknown"; readonly error: Error };

export function readOf<T>(value: T | undefined): Read<T> {
  return value === undefined ? { is: "nothing" } : { is: "found", value };
}

/** Partitions that gave no answer to a read while other partitions did. */
const silences = createSilences(BUCKET);
const WIDTH = 8;

/**
 * As `Pool.read`, but a partition that cannot be read does not fail the others. One that takes `NO_ANSWER_AFTER` to fail is not read for a
 * minute, unless all do so. Only for callers that have just got an answer from the pool: the failure of a single partition counts as its own.
 */
export async function readApart<T extends Item, W>(
  ctx: Context,
  wanted: readonly W[],
  keyOf: (one: W) => Key,
): Promise<[W, Read<T>][]> {
  const keys = wanted.map(keyOf);
  const reads = new Map<Key, Read<T>>();
  for (const key of keys) {
    const silence = silences.of(ctx, key.pk);
    if (silence) reads.set(key, { is: "unknown", error: silence.error });
  }
  const asked = keys.filter((key) => !reads.has(key));
  const begun = ctx.clock();
  const read = async (some: readonly Key[]): Promise<void> => {
    const items = (await ctx.pool.read(some)) as (T | undefined)[];
    for (const [i, key] of some.entries()) reads.set(key, readOf(items[i]));
  };
  try {
    await read(asked);
  } catch (error) {
    const partitions = Map.groupBy(asked, ({ pk }) => pk);
    const failed = new Map<string, Error>();
    const fail = (pk: string, reason: unknown): void => void failed.set(pk, asError(reason));
    const isAlone = partitions.size === 1;
    const again = isAlone ? begun : ctx.clock();
    if (isAlone) for (const pk of partitions.keys()) fail(pk, error);
    else await inParallel([...partitions], WIDTH, ([pk, some]) => read(some).catch((why) => fail(pk, why)));
    // If none can be read, the whole pool is in trouble, and may answer again at any moment.
    const isSlow = ctx.clock() - again >= NO_ANSWER_AFTER && (isAlone || failed.size < partitions.size);
    for (const [pk, error] of failed) {
      if (isSlow) silences.note(ctx, pk, error);
      for (const key of partitions.get(pk) ?? []) reads.set(key, { is: "unknown", error });
    }
  }
  return wanted.map((one, i) => [one, reads.get(keys[i] as Key) as Read<T>]);
}
