import { messageOf } from "../../core/errors.ts";
import { type Parked, parkedIn, parseNote } from "../../core/items.ts";
import { justAfter, type Position } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { shardsToRelease } from "../store/shards.ts";

const SHARDS_AT_ONCE = 16;

/** The notes of one shard that were read and not yet yielded, oldest first. */
type Line = {
  readonly pk: string;
  notes: Parked[];
  /** Up to where the shard was read. */
  after: Position;
  /** There may be further notes behind `after`. */
  more: boolean;
};

/**
 * Yields the notes of a topic's parked jobs that lie between two positions, over all shards. The notes are in the order of their jobs'
 * due times. A job whose bound `postponeUntil` lies before its due time is sorted by the bound. The caller may delete notes that were
 * yielded. If the notes of a shard cannot be read, the shard's partition is added to `sick`, and no more notes of it are read.
 *
 * @param count how many notes are yielded at once, at most
 */
export async function* parkedNotes(
  ctx: Context,
  { topic, sick }: { topic: string; sick: Set<string> },
  from: Position,
  before: Position,
  count: number,
): AsyncGenerator<Parked[]> {
  const shards = await shardsToRelease(ctx);
  // A release must read a page of each shard before it knows the oldest note, and often ends soon after. So the more shards there are,
  // the smaller are the pages.
  const page = Math.max(Math.min(ctx.sizes.parkedPage, Math.floor(ctx.sizes.parkedNotes / shards)), 1);
  const lines = Array.from({ length: shards }, (_, shard): Line => {
    const pk = parkedIn(topic, shard);
    return { pk, notes: [], after: from, more: !sick.has(pk) };
  });
  for (;;) {
    await inParallel(lines.filter(isToRead), SHARDS_AT_ONCE, async (line) => {
      try {
        const { items, more } = await ctx.pool.page(line.pk, line.after, before, page);
        line.notes = items.flatMap((item) => parseNote(item) ?? []);
        line.more = more;
        const last = items.at(-1);
        if (last) line.after = justAfter(last.sk);
      } catch (error) {
        ctx.report({
          type: "trouble",
          topic,
          what: "reading the notes of parked jobs",
          error: messageOf(error),
        });
        sick.add(line.pk);
        line.more = false;
      }
    });
    const notes: Parked[] = [];
    // The oldest note may lie in a shard that must be read further.
    while (notes.length < count && !lines.some(isToRead)) {
      const note = lines.reduce((a, b) => (skOf(a) < skOf(b) ? a : b)).notes.shift();
      if (!note) break;
      notes.push(note);
    }
    if (notes.length > 0) yield notes;
    else if (!lines.some(({ more }) => more)) return;
  }
}

function isToRead({ notes, more }: Line): boolean {
  return more && notes.length === 0;
}

/** The place of a line's oldest note. A line without notes comes last. */
function skOf({ notes }: Line): string {
  return notes[0]?.sk ?? "~";
}
