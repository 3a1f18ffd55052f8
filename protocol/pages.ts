import { BUCKET } from "../core/constants.ts";
import { bucketOf, type Home, isHome, type Look, minuteOf, sortable, timeOf } from "../core/items.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";

/** One entry of a bucket: its sort key, the position just before it, and its job as it stands now, if there. */
export type Entry = { sk: string; before: string; home: Home | undefined };

/** What was read, and how far: every entry before `position` has been on this page or an earlier one. */
export type EntryPage = { entries: Entry[]; position: string };

/**
 * The entries of a shard between two positions, oldest first. A position is a sort key, or a bare time that
 * sorts before all its entries. A home that lies in the page is not read again; a look's is.
 */
export async function* pages(
  ctx: Context,
  shard: number,
  from: string,
  before: string,
): AsyncGenerator<EntryPage> {
  const { page: limit, minutes } = ctx.sizes;
  let position = from;
  while (position < before) {
    const minute = minuteOf(timeOf(position));
    const stretch = Array.from({ length: minutes }, (_, i) => minute + i * BUCKET).filter(
      (start) => sortable(start) < before,
    );
    // A first look at several minutes at once: after an outage most are empty, and each read is a round trip.
    const heads = await Promise.all(
      stretch.map((start) => ctx.pool.page(bucketOf(start, shard), position, before, limit)),
    );
    for (const [i, start] of stretch.entries()) {
      let page = heads[i] ?? { items: [], more: false };
      const end = sortable(start + BUCKET) < before ? sortable(start + BUCKET) : before;
      for (;;) {
        const last = page.items.at(-1)?.sk;
        const next = page.more && last !== undefined ? last : undefined;
        // Read while this page is worked on: the bound was fixed before, so that it does not matter when.
        const following =
          next === undefined ? undefined : ctx.pool.page(bucketOf(start, shard), next, before, limit);
        following?.catch(() => {});
        const reached = next ?? end;
        if (page.items.length > 0 || i === stretch.length - 1) {
          yield { entries: await entriesOf(ctx, page.items as (Home | Look)[], position), position: reached };
        }
        position = reached;
        if (!following) break;
        page = await following;
      }
    }
  }
}

async function entriesOf(ctx: Context, items: readonly (Home | Look)[], from: string): Promise<Entry[]> {
  const looks = items.filter((item) => !isHome(item));
  const homes = await readHomes(
    ctx,
    looks.map((look) => look.id),
  );
  const looked = new Map(looks.map((look, i) => [look.sk, homes[i]]));
  let before = from;
  return items.map((item) => {
    const entry = { sk: item.sk, before, home: isHome(item) ? item : looked.get(item.sk) };
    before = item.sk;
    return entry;
  });
}
