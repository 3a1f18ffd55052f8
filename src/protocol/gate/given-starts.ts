import type { Holder } from "../../core/actor.ts";
import { BATCH_PATIENCE } from "../../core/constants.ts";
import { type Home, startsAt } from "../../core/home.ts";
import { lookAt } from "../../core/item-keys.ts";
import { changeOf } from "../../core/states.ts";
import type { Context } from "../ports.ts";
import { readReadableHomes } from "../store/read-job.ts";
import { changeApart, insertApart } from "../store/write-apart.ts";

export type GivenStart = {
  readonly home: Home;
  /** ms since the epoch. */
  readonly until: number;
  readonly by: Holder;
};

/** `given`: `home` is the job's home afterwards. `changed`: the job has changed since it was read. */
export type StartOutcome =
  | { readonly is: "given"; readonly home: Home }
  | { readonly is: "changed" }
  | { readonly is: "unknown"; readonly error: Error };

/**
 * Moves waiting jobs to later starts. Their `dueAt` stays, so that users see how long they are held. A job whose look is not filed is not
 * moved. The caller must read the clock afterwards: a sweep may have passed the look. `patience`: how long a write is repeated, in ms.
 */
export async function moveToStarts(
  ctx: Context,
  holds: readonly GivenStart[],
  patience = BATCH_PATIENCE,
): Promise<StartOutcome[]> {
  const now = ctx.clock();
  const looks = holds.map(({ home, until }) => lookAt(home.id, until));
  // rule: look-before-hold
  const filed = await insertApart(ctx, looks, now + patience);
  const moved = holds.filter((_, i) => !(filed[i] instanceof Error));
  // A deadline of their own: looks that take long must not use up the time of the other jobs.
  const outcomes = await writeStarts(ctx, moved, patience, ({ home }) => ({
    revision: home.revision + 1,
  }));
  return filed.map((look) =>
    look instanceof Error ? { is: "unknown", error: look } : (outcomes.shift() as StartOutcome),
  );
}

/** Writes the starts of jobs that are sent at once, so that a process that sends them again gives no other starts. */
export function noteStarts(
  ctx: Context,
  holds: readonly GivenStart[],
  patience = BATCH_PATIENCE,
): Promise<StartOutcome[]> {
  return writeStarts(ctx, holds, patience, () => ({}));
}

async function writeStarts(
  ctx: Context,
  holds: readonly GivenStart[],
  patience: number,
  more: (hold: GivenStart) => { revision?: number },
): Promise<StartOutcome[]> {
  const now = ctx.clock();
  const changes = holds.map((one) => {
    const { home, until, by: kind } = one;
    const heldBy = until > startsAt(home) && { heldBy: { kind, at: now } };
    return changeOf("hold", home, { heldUntil: until, ...heldBy, ...more(one) });
  });
  const outcomes = await changeApart(ctx, changes, now + patience);
  const refused = holds.filter((_, i) => outcomes[i] === "refused");
  const found = await readReadableHomes(
    ctx,
    refused.map(({ home }) => home.id),
    "giving starts to jobs",
  );
  return holds.map((one, i): StartOutcome => {
    const outcome = outcomes[i] ?? new Error("no answer");
    if (outcome instanceof Error) return { is: "unknown", error: outcome };
    const held: Home = { ...one.home, ...changes[i]?.set };
    if (outcome === "changed") return { is: "given", home: held };
    // Perhaps an earlier try was applied. A start that another process gave the job is as good.
    const stands = found[refused.indexOf(one)];
    return stands?.state === "scheduled" &&
      stands.revision === held.revision &&
      stands.heldUntil !== undefined
      ? { is: "given", home: { ...stands, ...(one.home.spare && { spare: true as const }) } }
      : { is: "changed" };
  });
}
