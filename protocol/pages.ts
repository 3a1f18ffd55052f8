import { BUCKET } from "../core/constants.ts";
import { bucketOf, type Home, type Item, isLookKey, type Look, minuteOf, timeOf } from "../core/items.ts";
import { beforeTime, justAfter, type Position } from "../core/position.ts";
import { isUnreadable, jobIn, readHome } from "../core/readable.ts";
import { entriesAtOnce } from "../core/sizes.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import type { Met } from "./unreadable.ts";

/**
 * One entry of a bucket: its sort key, the position just before it, and its job as it stands now, if there. `unreadable`: its
 * job is there and cannot be read.
 */
export type Entry = { sk: string; before: Position; home: Home | undefined; unreadable?: Met };

/** What was read, and how far: every entry before `position` has been on this page or an earlier one. */
export type EntryPage = { entries: Entry[]; position: Position };

/** A tick in time finds its entries in two minutes. */
const MINUTES_AT_FIRST = 2;

/**
 * The entries of a shard between two positions, oldest first. A home that lies in the page is not read again; a look's is,
 * so few at once that they fit into memory whatever their size (`core/sizes.ts`).
 */
export async function* pages(
  ctx: Context,
  shard: number,
  from: Position,
  before: Position,
): AsyncGenerator<EntryPage> {
  const { page: limit, minutes: most } = ctx.sizes;
  const few = entriesAtOnce(ctx.sizes);
  let position = from;
  let minutes = Math.min(MINUTES_AT_FIRST, most);
  while (position < before) {
    const stretch = minutesFrom(position, before, minutes);
    // Several minutes at once: after an outage most may be empty, and each read is a round trip. Many are but tried, as
    // what they answer is kept till its turn.
    const perMinute = minutes > MINUTES_AT_FIRST ? Math.min(Math.ceil(few / stretch.length), limit) : limit;
    const heads = await Promise.all(
      stretch.map((start) => ctx.pool.page(bucketOf(start, shard), position, before, perMinute)),
    );
    const isSparse = heads.reduce((sum, { items, more }) => sum + items.length + (more ? few : 0), 0) < few;
    minutes = Math.min(isSparse ? minutes * 2 : MINUTES_AT_FIRST, most);
    for (const [i, start] of stretch.entries()) {
      let page = heads.shift() ?? { items: [], more: false };
      const end = beforeTime(start + BUCKET) < before ? beforeTime(start + BUCKET) : before;
      for (;;) {
        const last = page.items.at(-1)?.sk;
        const next = page.more && last !== undefined ? justAfter(last) : undefined;
        // Read while this page is worked on: the bound was fixed before, so that it does not matter when.
        const following =
          next === undefined ? undefined : ctx.pool.page(bucketOf(start, shard), next, before, limit);
        following?.catch(() => {});
        const reached = next ?? end;
        if (page.items.length > 0 || i === stretch.length - 1)
          yield* slicesOf(ctx, page.items, position, reached, few);
        position = reached;
        if (!following) break;
        page = await following;
      }
    }
  }
}

function minutesFrom(position: Position, before: Position, count: number): number[] {
  const first = minuteOf(timeOf(position));
  const minutes = Array.from({ length: count }, (_, i) => first + i * BUCKET);
  return minutes.filter((start) => beforeTime(start) < before);
}

/** A page in slices of at most `few` looks. */
async function* slicesOf(
  ctx: Context,
  items: readonly Item[],
  from: Position,
  reached: Position,
  few: number,
): AsyncGenerator<EntryPage> {
  let position = from;
  let rest = items;
  do {
    const end = endOfSlice(rest, few);
    const slice = rest.slice(0, end);
    rest = rest.slice(end);
    const entries = await entriesOf(ctx, slice, position);
    const last = slice.at(-1)?.sk;
    position = rest.length > 0 && last !== undefined ? justAfter(last) : reached;
    yield { entries, position };
  } while (rest.length > 0);
}

/** How many of these entries there are up to, and with, the `few`th look. */
function endOfSlice(items: readonly Item[], few: number): number {
  let looks = 0;
  const at = items.findIndex((item) => isLookKey(item.sk) && ++looks === few);
  return at === -1 ? items.length : at + 1;
}

async function entriesOf(ctx: Context, items: readonly Item[], from: Position): Promise<Entry[]> {
  const ids = items.map(({ sk }) => jobIn(sk));
  const looked = items.flatMap(({ sk }, i) => (isLookKey(sk) ? (ids[i] ?? []) : []));
  const homes = await readHomes(ctx, looked);
  const homeOf = new Map(looked.map((id, i) => [id, homes[i]]));
  let before = from;
  return items.map((item, i) => {
    const { sk } = item;
    const id = ids[i];
    const place = { sk, before };
    before = justAfter(sk);
    if (id === undefined) {
      // No newer version files such an entry, and there is no job to look at again.
      const error = `entry ${sk} of bucket ${item.pk} names no job`;
      ctx.report({ type: "trouble", topic: "", what: "reading a bucket", error });
      return { ...place, home: undefined };
    }
    const home = isLookKey(sk) ? homeOf.get(id) : readHome(item, id);
    if (!isUnreadable(home)) return { ...place, home };
    const { since = timeOf(sk) } = item as Partial<Look>;
    return { ...place, home: undefined, unreadable: { ...home, since } };
  });
}
