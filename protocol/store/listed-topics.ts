import { ITEM_VERSION, type Key } from "../../core/items.ts";
import { BEGINNING, END, justAfter } from "../../core/position.ts";
import type { Context } from "../ports.ts";

const PAGE_TOPICS = 1000;

/** The topics that a partition lists: each of its items has the name of one as its sort key. */
export async function listedTopics(ctx: Context, partition: string): Promise<string[]> {
  const topics: string[] = [];
  for (let from = BEGINNING; ; ) {
    const { items, more } = await ctx.pool.page(partition, from, END, PAGE_TOPICS);
    topics.push(...items.map(({ sk }) => sk));
    const last = items.at(-1);
    if (!more || !last) return topics;
    from = justAfter(last.sk);
  }
}

/** Lists a topic under this key, if it is not listed yet. */
export async function listTopic(ctx: Context, key: Key, by: number): Promise<void> {
  const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION }], by);
  if (outcome instanceof Error) throw outcome;
}
