import { messageOf } from "../../core/errors.ts";
import { parkedIn, parseNote } from "../../core/item-keys.ts";
import type { Parked } from "../../core/items.ts";
import { justAfter, type Position } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { shardsToRelease } from "../store/shards.ts";

const SHARDS_AT_ONCE = 16;

/** The notes of a shard that were read and not yet yielded, oldest first. */
type Line = {
  readonly pk: string;
  notes: Parked[];
  /** The shard was read up to here. */
  after: Position;
  more: boolean;
};

/**
 * Yields the notes of a topic's parked jobs between two positions, `count` at most at once, over all shards, in the order of their jobs' due
 * times (or bounds `postponeUntil`, if earlier). The caller may delete notes that were yielded. Partitions that are `sick` are not read, and those
 * that cannot be read become `sick`.
 */
export async function* parkedNotes(
  ctx: Context,
  { topic, sick }: { topic: string; sick: Set<string> },
  from: Position,
  before: Position,
  count: number,
): AsyncGenerator<readonly Parked[]> {
  const shards = await shardsToRelease(ctx);
  // A page of each shard must be read before the oldest note is known. So the more shards there are, the smaller are the pages.
  const page = Math.max(Math.min(ctx.sizes.parkedPage, Math.floor(ctx.sizes.parkedNotes / shards)), 1);
  const lines = Array.from({ length: shards }, (_, shard): Line => {
    const pk = parkedIn(topic, shard);
    return { pk, notes: [], after: from, more: !sick.has(pk) };
  });
  for (;;) {
    await inParallel(lines.filter(isToRead), SHARDS_AT_ONCE, async (line) => {
      try {
        await readLine(ctx, line, before, page);
      } catch (error) {
        line.more = false;
        sick.add(line.pk);
        const what = "reading the notes of parked jobs";
        ctx.report({ type: "trouble", topic, what, error: messageOf(error) });
      }
    });
    const notes = takeOldest(lines, count);
    if (notes.length > 0) yield notes;
    else if (!lines.some(({ more }) => more)) return;
  }
}

async function readLine(ctx: Context, line: Line, before: Position, page: number): Promise<void> {
  const { items, more } = await ctx.pool.page(line.pk, line.after, before, page);
  line.notes = items.flatMap((item) => parseNote(item) ?? []);
  line.more = more;
  const last = items.at(-1);
  if (last) line.after = justAfter(last.sk);
}

/** The oldest first. Stops where the oldest note may lie in a shard that must be read further. */
function takeOldest(lines: readonly Line[], count: number): Parked[] {
  const notes: Parked[] = [];
  while (notes.length < count && !lines.some(isToRead)) {
    const note = lines.reduce((a, b) => (skOf(a) < skOf(b) ? a : b)).notes.shift();
    if (!note) break;
    notes.push(note);
  }
  return notes;
}

function isToRead({ notes, more }: Line): boolean {
  return more && notes.length === 0;
}

/** A line without notes comes last. */
function skOf({ notes }: Line): string {
  return notes[0]?.sk ?? "~";
}
