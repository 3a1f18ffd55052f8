import type { Head, Home } from "../../core/home.ts";
import { keyItemKey } from "../../core/item-keys.ts";
import type { KeyItem } from "../../core/items.ts";
import type { Context, Write } from "../ports.ts";
import { readApart } from "./read-apart.ts";
import { readHomesApart } from "./read-job.ts";

/** The write by which a redrive takes the key of its job again. `taken`: the key names another job. */
export async function writeToReclaimKey(ctx: Context, home: Home): Promise<Write | "taken"> {
  const key = keyItemKey(home.topic, home.key ?? "");
  const [item] = (await ctx.pool.read([key])) as [KeyItem | undefined];
  if (!item) return { insert: { ...key, v: home.v, id: home.id } };
  if (item.id !== home.id) {
    const [[, state]] = (await statesOf(ctx, [item])) as [[KeyItem, KeyState]];
    if (state.is === "unknown") throw state.error;
    if (state.is === "taken") return "taken";
  }
  return { change: { key, expect: { id: item.id }, set: { id: home.id }, remove: ["expiresAt"] } };
}

/** Finished jobs whose keys name no other job. If this cannot be read, a later redrive moves the job, or (`mustRead`) this one throws. */
export async function selectRedrivable(
  ctx: Context,
  topic: string,
  homes: readonly Head[],
  mustRead: boolean,
): Promise<Head[]> {
  const keys = [...new Set(homes.flatMap(({ key }) => key ?? []))];
  const reads = await readApart<KeyItem, string>(ctx, keys, (key) => keyItemKey(topic, key));
  const items = reads.flatMap(([, read]) => (read.is === "found" ? read.value : []));
  const ids = new Set(homes.map(({ id }) => id));
  const others = items.filter((item) => !ids.has(item.id));
  const states = new Map(await statesOf(ctx, others));
  const unread = [...reads.map(([, read]) => read), ...states.values()].find(({ is }) => is === "unknown");
  if (unread?.is === "unknown") {
    if (mustRead) throw unread.error;
    ctx.report({ type: "trouble", topic, what: "reading keys of dead jobs", error: unread.error.message });
  }
  const holders = new Map(reads);
  return homes.filter(({ id, key }) => {
    const read = key === undefined ? undefined : holders.get(key);
    if (read === undefined || read.is === "nothing") return true;
    if (read.is === "unknown") return false;
    return read.value.id === id || states.get(read.value)?.is === "free";
  });
}

/** `free`: TTL has deleted the key's job. */
type KeyState = { readonly is: "free" | "taken" } | { readonly is: "unknown"; readonly error: Error };

async function statesOf(ctx: Context, items: readonly KeyItem[]): Promise<[KeyItem, KeyState][]> {
  const reads = await readHomesApart(ctx, items);
  return reads.map(([item, read]) => {
    if (read.is === "unknown") return [item, read];
    return [item, { is: read.is === "nothing" ? "free" : "taken" }];
  });
}
