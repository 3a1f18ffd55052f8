import { BATCH_PATIENCE } from "../../core/constants.ts";
import { type Home, lookAt } from "../../core/items.ts";
import { changeOf } from "../../core/states.ts";
import type { Context, Deadline } from "../ports.ts";
import { readReadableHomes } from "../store/read-job.ts";
import { changeApart, insertApart } from "../store/write-apart.ts";

/** A waiting job and the start that it is given. */
export type GivenStart = {
  readonly home: Home;
  /** When the job may start: ms since the epoch. */
  readonly until: number;
};

/** What became of a job that was given a start. `given`: `home` is its home afterwards. `changed`: the job has changed since it was read. */
export type StartOutcome =
  | { readonly is: "given"; readonly home: Home }
  | { readonly is: "changed" }
  | { readonly is: "unknown"; readonly error: Error };

/**
 * Moves many waiting jobs to later starts. Their `dueAt` stays: users see how long the jobs are held. The looks are filed first; a job whose
 * look is not filed is not moved, and gets the error. The caller must read the clock afterwards: a sweep may have passed the new look.
 * @param patience for how long a write is repeated if DynamoDB leaves its outcome unknown: ms
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
  // A deadline of their own: looks that take long to file must not use up the time of the other jobs.
  const outcomes = await writeStarts(ctx, moved, ctx.clock() + patience, ({ home }) => ({
    revision: home.revision + 1,
  }));
  return filed.map((look) =>
    look instanceof Error ? { is: "unknown", error: look } : (outcomes.shift() as StartOutcome),
  );
}

/** Writes the starts of jobs that are sent at once into their homes, so that a process that sends them again gives no other starts. */
export function noteStarts(
  ctx: Context,
  holds: readonly GivenStart[],
  patience = BATCH_PATIENCE,
): Promise<StartOutcome[]> {
  return writeStarts(ctx, holds, ctx.clock() + patience, () => ({}));
}

async function writeStarts(
  ctx: Context,
  holds: readonly GivenStart[],
  by: Deadline,
  more: (hold: GivenStart) => { revision?: number },
): Promise<StartOutcome[]> {
  const changes = holds.map((one) => {
    const { home, until } = one;
    return changeOf("hold", home, { heldUntil: until, ...more(one) });
  });
  const outcomes = await changeApart(ctx, changes, by);
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
    // Perhaps an earlier try, whose answer was lost, was applied. A start that another process gave the job is as good.
    const stands = found[refused.indexOf(one)];
    return stands?.state === "scheduled" &&
      stands.revision === held.revision &&
      stands.heldUntil !== undefined
      ? { is: "given", home: { ...stands, ...(one.home.spare && { spare: true as const }) } }
      : { is: "changed" };
  });
}
