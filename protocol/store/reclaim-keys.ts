import { type Head, type Home, type KeyItem, keyItemKey } from "../../core/items.ts";
import type { Context, Write } from "../ports.ts";
import { isBeingFiled } from "./key-holder.ts";
import { readApart } from "./read-apart.ts";
import { readHomesApart } from "./read-job.ts";

/**
 * Makes the write by which a redrive takes the key of its job again, in one transaction with the job's home. Answers `taken` if
 * the key names another job now.
 */
export async function writeToReclaimKey(ctx: Context, home: Home): Promise<Write | "taken"> {
  const key = keyItemKey(home.topic, home.key ?? "");
  const [item] = (await ctx.pool.read([key])) as [KeyItem | undefined];
  if (!item) return { insert: { ...key, v: home.v, id: home.id } };
  const isOurs = item.id === home.id;
  if (!isOurs) {
    const [isFree] = await areUnstored(ctx, [item]);
    if (isFree instanceof Error) throw isFree;
    if (!isFree) return "taken";
  }
  const change = { key, expect: { id: item.id, writtenAt: item.writtenAt }, set: { id: home.id } };
  return { change: { ...change, remove: ["expiresAt", "writtenAt"] } };
}

/**
 * Selects the finished jobs of a topic that a redrive may move: jobs without a key, and jobs whose key names no other job. A job
 * is left to a later redrive if its key item, or the home that the item names, cannot be read. The first error of these reads is reported.
 */
export async function selectRedrivable(ctx: Context, topic: string, homes: readonly Head[]): Promise<Head[]> {
  const keys = [...new Set(homes.flatMap(({ key }) => key ?? []))];
  const items = await readApart(
    ctx,
    keys.map((key) => keyItemKey(topic, key)),
  );
  const holders = new Map(keys.map((key, i) => [key, items[i] as KeyItem | undefined | Error]));
  const ids = new Set(homes.map(({ id }) => id));
  const others = [...holders.values()].filter(
    (item): item is KeyItem => item !== undefined && !(item instanceof Error) && !ids.has(item.id),
  );
  const judged = await areUnstored(ctx, others);
  const free = new Set(others.filter((_, i) => judged[i] === true));
  const unread = [...items, ...judged].find((found) => found instanceof Error);
  if (unread instanceof Error)
    ctx.report({ type: "trouble", topic, what: "reading keys of dead jobs", error: unread.message });
  return homes.filter(({ id, key = "" }) => {
    const holder = holders.get(key);
    if (holder instanceof Error) return false;
    return holder === undefined || holder.id === id || free.has(holder);
  });
}

/**
 * Says of each key item whether its job is not stored, and never will be. TTL has deleted such a job, or the process that wrote the
 * item died before it stored the job.
 */
async function areUnstored(ctx: Context, items: readonly KeyItem[]): Promise<(boolean | Error)[]> {
  // The clock is read first: a home may be stored after its read, and before the answer comes.
  const now = ctx.clock();
  const homes = await readHomesApart(
    ctx,
    items.map(({ id }) => id),
  );
  return items.map((item, i) => {
    const home = homes[i];
    if (home instanceof Error) return home;
    // rule: redrive-waits-for-the-filing
    return home === undefined && !isBeingFiled(item, now);
  });
}
