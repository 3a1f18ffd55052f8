import { WRITER_DEADLINE } from "../../core/constants.ts";
import { keepsChanging, MinutehandError } from "../../core/errors.ts";
import type { Head } from "../../core/home.ts";
import { deadKey, homeKey, keyItemKey, onceKey } from "../../core/item-keys.ts";
import type { Item, Key } from "../../core/items.ts";
import { isOfDelivery, onceNotesOf } from "../../core/once.ts";
import { layoutTrouble } from "../../core/readable.ts";
import type { Context, Expected, Write } from "../ports.ts";
import { sharedJobs } from "../store/shared-once-item.ts";

const TRIES = 10;

/**
 * Deletes the items that hold texts of an ended job: its home, the item of its key, and its once items. One transaction does it, so that a job
 * that is redriven meanwhile keeps all of them. Looks and notes hold only the id, and TTL deletes them. Answers the reason if the job is left.
 */
export async function deleteJob(ctx: Context, home: Head): Promise<MinutehandError | undefined> {
  const by = ctx.clock() + WRITER_DEADLINE;
  try {
    for (let i = 0; i < TRIES; i++) {
      const { state, revision, finishedAt } = home;
      const removal = { key: homeKey(home.id), expect: { state, revision, finishedAt } };
      const done = await ctx.pool.transact([{ remove: removal }, ...(await namingItems(ctx, home))], by);
      if (!done.done) {
        const [met] = done.refused;
        // Only another item has changed.
        if (met === false) continue;
        if (met !== undefined) return changedMeanwhile(home);
      }
      // The home is gone. Another erase, or TTL, may have been faster.
      if (home.state === "dead") await ctx.pool.remove([deadKey(home.topic, home.finishedAt, home.id)], by);
      return undefined;
    }
    return keepsChanging(`the items of job ${home.id}`, { id: home.id });
  } catch (error) {
    if (error instanceof MinutehandError) return error;
    throw error;
  }
}

function changedMeanwhile({ id }: Head): MinutehandError {
  const text = `job ${id} was redriven while it was erased; repeat the call`;
  return new MinutehandError("changed-meanwhile", text, { id });
}

/** The deletes of the items that name this job alone. A newer version's items are left to TTL. */
async function namingItems(ctx: Context, { id, topic, key, once }: Head): Promise<Write[]> {
  // Without the once item of an event or of an occurrence, its second delivery would file the job again. That of an event has the job's key.
  const ofCallers = onceNotesOf(once).filter(({ token }) => !isOfDelivery(token));
  const keys: Key[] = ofCallers.map(({ token }) => onceKey(topic, token));
  if (key !== undefined) keys.push(keyItemKey(topic, key));
  const items = keys.length === 0 ? [] : await ctx.pool.read(keys);
  return items.flatMap((item, i) => {
    const expect = item && layoutTrouble(item) === undefined && namesOnly(item, id);
    return expect ? { remove: { key: keys[i] as Key, expect } } : [];
  });
}

/** What an item that names no other job is expected to be. The once item of a batch names others too: it holds no text of their jobs. */
function namesOnly(item: Item, id: string): Expected | undefined {
  if (!("seed" in item)) return "id" in item && item.id === id ? { id } : undefined;
  // Together they show that a repeat of the batch has added a job.
  const { seed, expiresAt } = item;
  return sharedJobs(item).every((job) => job === undefined || job.id === id)
    ? { seed, expiresAt }
    : undefined;
}
