import { BUCKET, LOOKAHEAD, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import type { Item } from "../../core/items.ts";
import { onGrid } from "../../core/look-again.ts";
import { layoutTrouble, type Unreadable } from "../../core/readable.ts";
import type { Context } from "../ports.ts";
import { fileLooks } from "./looks.ts";

/** A job that cannot be read, and since when looks have met it so: ms since the epoch. */
export type Met = Unreadable & { readonly since: number };

/** Waits between two looks at a job that cannot be read: 4 minutes at first, about four hours at last. */
const SHORTEST_WAIT = 4 * BUCKET;
const LONGEST_WAIT = 256 * BUCKET;

/**
 * Reports jobs that cannot be read, and files the next look at each: they run once the code that can read them is back.
 * Both the sweep and the audit do so, as neither knows of the other.
 */
export async function lookAtUnreadableAgain(ctx: Context, what: string, met: readonly Met[]): Promise<void> {
  if (met.length === 0) return;
  reportUnreadable(ctx, what, met);
  const now = ctx.clock();
  const looks = met.map(({ id, since }) => ({ id, time: nextLookAt(id, since, now + LOOKAHEAD), since }));
  await fileLooks(ctx, looks, now + WRITER_DEADLINE);
}

/**
 * When to look at such a job again, at or after `from`: the longer nobody could read it, the later.
 */
function nextLookAt(id: string, since: number, from: number): number {
  const doublings = Math.floor(Math.log2(Math.max((from - since) / 2 / SHORTEST_WAIT, 1)));
  return onGrid(id, from, Math.min(SHORTEST_WAIT * 2 ** doublings, LONGEST_WAIT));
}

/** One report for each reason, with the first job that it holds of. */
export function reportUnreadable(ctx: Context, what: string, found: readonly Unreadable[]): void {
  for (const [error, some] of Map.groupBy(found, ({ unreadable }) => unreadable))
    ctx.report({ type: "unreadable", what, jobs: some.length, id: some[0]?.id ?? "", error });
}

/** What a caller is told who names such a job. */
export function cannotRead({ id, unreadable }: Unreadable): MinutehandError {
  return unavailableItem(`job ${id}`, unreadable, { id });
}

/** An item of any other kind, as long as this code can read it. Throws `unavailable`. `what`: its name for people. */
export function readable<T extends Item>(item: T | undefined, what: string): T | undefined {
  const trouble = item && layoutTrouble(item);
  if (trouble !== undefined) throw unavailableItem(what, trouble);
  return item;
}

function unavailableItem(what: string, unreadable: string, data: object = {}): MinutehandError {
  const why = `${what} cannot be read: ${unreadable}`;
  const hope = "if a newer version wrote it, deploy that version again";
  return new MinutehandError("unavailable", `${why}; ${hope}`, { ...data, unreadable });
}
