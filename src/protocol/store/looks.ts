import { BATCH_PATIENCE, BUCKET, DAY, STALE_AFTER } from "../../core/constants.ts";
import type { Head } from "../../core/home.ts";
import { lookAt, ttl } from "../../core/item-keys.ts";
import type { Look } from "../../core/items.ts";
import { addressOf } from "../../core/job-id.ts";
import type { Context, Deadline } from "../ports.ts";
import { changeApart, insertApart } from "./write-apart.ts";

/** A look that exists already has the same effect. @throws the error of the first look that was not filed */
export async function fileLooks(ctx: Context, looks: readonly LookTime[], by: number): Promise<void> {
  if (looks.length === 0) return;
  for (const outcome of await ctx.pool.insert(distinct(looks).map(itemOf), by))
    if (outcome instanceof Error) throw outcome;
}

/**
 * Files looks of sweeps and audits. One that a partition does not take within `BATCH_PATIENCE` is filed a minute later, in another partition.
 * `by` counts from when the times were chosen: the audit's cursor may pass a later look. @throws the error of the first look that was not filed
 */
export async function fileLooksAbout(ctx: Context, looks: readonly LookTime[], by: Deadline): Promise<void> {
  if (looks.length === 0) return;
  const those = distinct(looks);
  const outcomes = await insertApart(ctx, those.map(itemOf), Math.min(ctx.clock() + BATCH_PATIENCE, by));
  const unfiled = those.filter((_, i) => outcomes[i] instanceof Error);
  const later = unfiled.map((look) => ({ ...look, time: look.time + BUCKET }));
  await fileLooks(ctx, later, by);
}

/** `time`: ms since the epoch. */
export type LookTime = { readonly id: string; readonly time: number } & Pick<Look, "since">;

/** DynamoDB refuses a batch that names an item twice. */
function distinct(looks: readonly LookTime[]): LookTime[] {
  return [...new Map(looks.map((look) => [`${look.id} ${look.time}`, look])).values()];
}

function itemOf({ id, time, ...more }: LookTime): Look {
  return { ...lookAt(id, time), ...more };
}

/** Prolongs the TTL of looks at the due times of late jobs: docs/internals/decisions/audit.md. `next`: when an audit looks at each again. */
export async function keepDueLooks(
  ctx: Context,
  homes: readonly Head[],
  next: ReadonlyMap<string, number>,
): Promise<void> {
  const looks = homes.flatMap(({ id, dueAt, topic }) => {
    const again = next.get(id) ?? 0;
    // A job that was never moved has its home there.
    const isMoved = addressOf(id).time !== dueAt;
    return isMoved && dueAt + STALE_AFTER < again + DAY
      ? { topic, look: { ...lookAt(id, dueAt), expiresAt: ttl(again + STALE_AFTER) } }
      : [];
  });
  if (looks.length === 0) return;
  const by = ctx.clock() + BATCH_PATIENCE;
  const outcomes = await changeApart(
    ctx,
    looks.map(({ look: { pk, sk, expiresAt } }) => ({ key: { pk, sk }, expect: {}, set: { expiresAt } })),
    by,
  );
  const gone = looks.flatMap(({ look }, i) => (outcomes[i] === "refused" ? look : []));
  const filed = await insertApart(ctx, gone, by);
  for (const outcome of [...outcomes, ...filed])
    if (outcome instanceof Error)
      ctx.report({
        type: "trouble",
        topic: looks[0]?.topic ?? "",
        what: "keeping looks at late jobs",
        error: outcome.message,
      });
}
