import { ITEM_VERSION, type Key } from "../../core/items.ts";
import { BEGINNING, END, justAfter } from "../../core/position.ts";
import type { Context } from "../ports.ts";

const PAGE_TOPICS = 1000;

/** Each item of the partition has a topic's name as its sort key. */
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

/** `key`: of the topic's item in the list. Idempotent. */
export async function listTopic(ctx: Context, key: Key, by: number): Promise<void> {
  const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION }], by);
  if (outcome instanceof Error) throw outcome;
}
