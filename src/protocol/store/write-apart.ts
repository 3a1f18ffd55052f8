import { BATCH_PATIENCE, BUCKET } from "../../core/constants.ts";
import type { Item } from "../../core/items.ts";
import type { Change, Context, Deadline } from "../ports.ts";
import { createSilences } from "./silence.ts";

/** Partitions that did not answer writes while other partitions did. */
const silences = createSilences(BUCKET);

/** As `Pool.changeMany`. After a call of `BATCH_PATIENCE`, the partitions that failed get the error at once for a minute, unless all did. */
export function changeApart(
  ctx: Context,
  changes: readonly Change[],
  by: Deadline,
): Promise<("changed" | "refused" | Error)[]> {
  return writeApart(
    ctx,
    changes,
    ({ key }) => key.pk,
    (some) => ctx.pool.changeMany(some, by),
  );
}

/** Inserts items as `Pool.insert`, but does not ask silent partitions (see `changeApart`). */
export function insertApart(
  ctx: Context,
  items: readonly Item[],
  by: Deadline,
): Promise<("inserted" | "exists" | Error)[]> {
  return writeApart(
    ctx,
    items,
    ({ pk }) => pk,
    (some) => ctx.pool.insert(some, by),
  );
}

async function writeApart<T, Outcome>(
  ctx: Context,
  items: readonly T[],
  partitionOf: (item: T) => string,
  write: (some: readonly T[]) => Promise<(Outcome | Error)[]>,
): Promise<(Outcome | Error)[]> {
  const silent = items.map((item) => silences.of(ctx, partitionOf(item)));
  const asked = items.flatMap((_, i) => (silent[i] ? [] : i));
  const outcomes = silent.map((silence): Outcome | Error => silence?.error ?? new Error("no answer"));
  if (asked.length === 0) return outcomes;
  const begun = ctx.clock();
  const written = await write(asked.map((i) => items[i] as T));
  for (const [at, i] of asked.entries()) outcomes[i] = written[at] ?? new Error("no answer");
  const partitions = Map.groupBy(asked, (i) => partitionOf(items[i] as T));
  const undecided = [...partitions].filter(([, those]) => those.some((i) => outcomes[i] instanceof Error));
  // If none decides its writes, the whole pool is in trouble, and may answer again at any moment.
  const isSilence =
    ctx.clock() - begun >= BATCH_PATIENCE && (partitions.size === 1 || undecided.length < partitions.size);
  if (isSilence)
    for (const [pk, those] of undecided)
      silences.note(ctx, pk, outcomes[those.find((i) => outcomes[i] instanceof Error) as number]);
  return outcomes;
}
