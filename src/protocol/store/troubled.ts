import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Trouble, type TroubledJob, troubledAt, troubledTopicKey } from "../../core/item-keys.ts";
import { ITEM_VERSION } from "../../core/items.ts";
import type { Context, Pool } from "../ports.ts";
import { insertApart } from "./write-apart.ts";

/** The keys of the topics that this process has listed. */
const listed = new WeakMap<Pool, Set<string>>();

/** Notes jobs for readers of their topics. Throws nothing: no job may wait or fail because its note cannot be written. */
export async function noteTroubled(
  ctx: Context,
  trouble: Trouble,
  jobs: readonly TroubledJob[],
): Promise<void> {
  const [first] = jobs;
  if (first === undefined) return;
  const by = ctx.clock() + BATCH_PATIENCE;
  try {
    // The topic is listed first, because readers look for the notes of listed topics only.
    for (const topic of new Set(jobs.map((job) => job.topic))) await listTroubled(ctx, trouble, topic, by);
    const notes = jobs.map((job) => troubledAt(trouble, job));
    // DynamoDB refuses a batch that names an item twice.
    const distinct = new Map(notes.map((note) => [note.sk, note]));
    for (const outcome of await insertApart(ctx, [...distinct.values()], by))
      if (outcome instanceof Error) throw outcome;
  } catch (error) {
    ctx.report({
      type: "trouble",
      topic: first.topic,
      what: "noting late jobs and retries",
      error: messageOf(error),
    });
  }
}

async function listTroubled(ctx: Context, trouble: Trouble, topic: string, by: number): Promise<void> {
  const known = listed.get(ctx.pool) ?? new Set<string>();
  listed.set(ctx.pool, known);
  const key = troubledTopicKey(trouble, topic);
  const name = `${key.pk}#${key.sk}`;
  if (known.has(name)) return;
  const [outcome] = await insertApart(ctx, [{ ...key, v: ITEM_VERSION }], by);
  if (outcome instanceof Error) throw outcome;
  known.add(name);
}
