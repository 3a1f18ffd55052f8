import { type Home, type KeyItem, keyKey, type Tombstone, tombstoneKey } from "../core/items.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";

/** What stands under a caller's own key. */
export type KeyHolder = {
  item: KeyItem | undefined;
  /** The job that it names, live or finished, if it is stored still. */
  holder: Home | undefined;
  tombstone: Tombstone | undefined;
};

/** `withTombstone`: only topics whose jobs events cancel have any. */
export async function readKeyHolder(
  ctx: Context,
  topic: string,
  key: string,
  withTombstone: boolean,
): Promise<KeyHolder> {
  const places = [keyKey(topic, key), ...(withTombstone ? [tombstoneKey(topic, key)] : [])];
  const [item, tombstone] = (await ctx.pool.read(places)) as [KeyItem | undefined, Tombstone | undefined];
  const [holder] = item ? await readHomes(ctx, [item.id]) : [];
  return { item, holder, tombstone };
}
