import { BATCH_PATIENCE, BUCKET, DAY, STALE_AFTER } from "../../core/constants.ts";
import { type Head, type Look, lookAt, ttl } from "../../core/items.ts";
import { addressOf } from "../../core/job-id.ts";
import type { Context, Deadline } from "../ports.ts";
import { changeApart, insertApart } from "./write-apart.ts";

/** Stores a look for each job. A look that exists already has the same effect. @throws the error of the first look that was not filed */
export async function fileLooks(ctx: Context, looks: readonly LookTime[], by: number): Promise<void> {
  if (looks.length === 0) return;
  for (const outcome of await ctx.pool.insert(distinct(looks).map(itemOf), by))
    if (outcome instanceof Error) throw outcome;
}

/**
 * Files looks whose times need not be exact, for sweeps and audits. A look that a partition does not take within `BATCH_PATIENCE` (2 s) is
 * filed one minute later, in another partition: one partition must not stop a sweep or an audit.
 * @param by counts from when the looks' times were chosen. A look that is written later may lie behind the audit's cursor
 * @throws the error of the first look that was not filed one minute later either
 */
export async function fileLooksAbout(ctx: Context, looks: readonly LookTime[], by: Deadline): Promise<void> {
  if (looks.length === 0) return;
  const those = distinct(looks);
  const outcomes = await insertApart(ctx, those.map(itemOf), Math.min(ctx.clock() + BATCH_PATIENCE, by));
  const unfiled = those.filter((_, i) => outcomes[i] instanceof Error);
  const later = unfiled.map((look) => ({ ...look, time: look.time + BUCKET }));
  await fileLooks(ctx, later, by);
}

/** A look at a job. `time`: ms since the epoch. */
type LookTime = { readonly id: string; readonly time: number } & Pick<Look, "since">;

/** Leaves out repeated looks: DynamoDB refuses a batch that names an item twice. */
function distinct(looks: readonly LookTime[]): LookTime[] {
  return [...new Map(looks.map((look) => [`${look.id} ${look.time}`, look])).values()];
}

function itemOf({ id, time, ...more }: LookTime): Look {
  return { ...lookAt(id, time), ...more };
}

/**
 * Prolongs the TTL of the look at the due time of each late job that was moved there: docs/internals/decisions/audit.md.
 * @param next when an audit looks at each job again, by the jobs' ids, ms since the epoch
 */
export async function keepDueLooks(
  ctx: Context,
  homes: readonly Head[],
  next: ReadonlyMap<string, number>,
): Promise<void> {
  const looks = homes.flatMap(({ id, dueAt, topic }) => {
    const again = next.get(id) ?? 0;
    // A job that was never moved needs no look at its due time, because its home lies there.
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
