import { ITEM_VERSION, type Key } from "../../core/items.ts";
import { BEGINNING, END, justAfter } from "../../core/position.ts";
import type { Context } from "../ports.ts";

/** How many items one read may answer at most. */
const PAGE_TOPICS = 1000;

/** Reads the names of all topics that a partition lists. Each item of the partition has a topic's name as its sort key. */
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

/** Adds a topic to a list. `key`: the key of the topic's item in this list. Idempotent. */
export async function listTopic(ctx: Context, key: Key, by: number): Promise<void> {
  const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION }], by);
  if (outcome instanceof Error) throw outcome;
}
