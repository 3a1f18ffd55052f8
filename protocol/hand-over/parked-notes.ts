import { messageOf } from "../../core/errors.ts";
import { noteIn, type Parked, parkedIn } from "../../core/items.ts";
import { justAfter, type Position } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { shardsToRelease } from "../store/shards.ts";

const WIDTH = 16;

/** What was read of one shard and not told yet. `more`: there may be further notes behind `after`. */
type Line = { readonly pk: string; after: Position; notes: Parked[]; more: boolean };

/**
 * The notes of a topic's parked jobs that lie between two positions, in the order in which the jobs are due, over all
 * shards, `count` at a time. What has been told may be deleted meanwhile. A shard whose notes cannot be read keeps those of no
 * other waiting: it is `sick`, and passed over from then on.
 */
export async function* parkedNotes(
  ctx: Context,
  { topic, sick }: { topic: string; sick: Set<string> },
  from: Position,
  before: Position,
  count: number,
): AsyncGenerator<Parked[]> {
  const shards = await shardsToRelease(ctx);
  // A release reads a page of each shard before it knows the oldest note, and soon ends: of many shards the pages are small.
  const page = Math.max(Math.min(ctx.sizes.parkedPage, Math.floor(ctx.sizes.parkedNotes / shards)), 1);
  const lines = Array.from({ length: shards }, (_, shard): Line => {
    const pk = parkedIn(topic, shard);
    return { pk, after: from, notes: [], more: !sick.has(pk) };
  });
  for (;;) {
    const empty = lines.filter(({ notes, more }) => more && notes.length === 0);
    await inParallel(empty, WIDTH, async (line) => {
      try {
        const { items, more } = await ctx.pool.page(line.pk, line.after, before, page);
        line.notes = items.flatMap((item) => noteIn(item) ?? []);
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
    // Up to where a shard has to be read further, the oldest note is known.
    while (notes.length < count && !lines.some(({ notes, more }) => more && notes.length === 0)) {
      const oldest = lines
        .filter(({ notes }) => notes.length > 0)
        .reduce<Line | undefined>((a, b) => (a && skOf(a) < skOf(b) ? a : b), undefined);
      const note = oldest?.notes.shift();
      if (!note) break;
      notes.push(note);
    }
    if (notes.length > 0) yield notes;
    else if (!lines.some(({ more }) => more)) return;
  }
}

function skOf({ notes }: Line): string {
  return notes[0]?.sk ?? "~";
}
