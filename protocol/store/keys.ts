import { RETRY_LOOK_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { type Head, type Home, homeKey, type KeyItem, keyKey } from "../../core/items.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context, Write } from "../ports.ts";
import { fileLooks } from "./looks.ts";
import { readApart } from "./read-apart.ts";
import { readable } from "./unreadable.ts";

const WIDTH = 8;

/** A job that has finished, as its process knows it. Of a dead one the revision too: it may be redriven meanwhile. */
type Finished = { id: string; topic: string; key?: string; state?: string; revision?: number };

/**
 * Lets the key item of a finished job go with its home, if it still names that job. A finished job frees
 * its key in any case: this only keeps the table clean, so that its failure is reported and no more.
 */
export async function releaseKey(ctx: Context, job: Finished, expiresAt: number, by: number): Promise<void> {
  if (job.key === undefined) return;
  try {
    await freeKey(ctx, job, job.key, expiresAt, by);
  } catch (error) {
    ctx.report({ type: "trouble", topic: job.topic, what: "letting a key go", error: messageOf(error) });
  }
}

/**
 * Files looks at keyed jobs that are cancelled at `now` long before they are due: the audit then lets their keys go if
 * nobody lives to do so before. By the due time TTL may have taken the home. As with `releaseKey`, a failure is
 * reported and no more.
 */
export async function lookAtKeys(ctx: Context, homes: readonly Head[], now: number): Promise<void> {
  const time = now + RETRY_LOOK_AFTER;
  const far = homes.filter(({ key, dueAt }) => key !== undefined && dueAt > time);
  try {
    await fileLooks(
      ctx,
      far.map(({ id }) => ({ id, time })),
      now + WRITER_DEADLINE,
    );
  } catch (error) {
    ctx.report({ type: "trouble", topic: "", what: "filing looks at keys", error: messageOf(error) });
  }
}

async function freeKey(
  ctx: Context,
  { id, topic, state, revision }: Finished,
  key: string,
  expiresAt: number,
  by: number,
): Promise<void> {
  const change = { key: keyKey(topic, key), expect: { id }, set: { expiresAt } };
  if (state === "dead") {
    await ctx.pool.transact([{ check: { key: homeKey(id), expect: { state, revision } } }, { change }], by);
  } else await ctx.pool.change(change, by);
}

/**
 * Lets the keys of these finished jobs go where a process died before it did. What keeps a job from that is reported. Answers the
 * jobs whose partitions gave no answer: they need another look.
 */
export async function releaseLeftKeys(ctx: Context, homes: readonly Home[], by: number): Promise<Home[]> {
  const keyed = homes.filter(({ key }) => key !== undefined);
  const items = await readApart(
    ctx,
    keyed.map(({ topic, key }) => keyKey(topic, key ?? "")),
  );
  const failed = await inParallel([...keyed.entries()], WIDTH, async ([i, home]) => {
    const item = items[i] as KeyItem | undefined | Error;
    const isLeft = item instanceof Error || (item?.id === home.id && item.expiresAt === undefined);
    if (!isLeft) return [];
    try {
      if (item instanceof Error) throw item;
      await freeKey(ctx, home, home.key ?? "", home.expiresAt ?? 0, by);
      return [];
    } catch (error) {
      const what = `letting the key of job ${home.id} go`;
      ctx.report({ type: "trouble", topic: home.topic, what, error: messageOf(error) });
      return error === item || isUnavailable(error) ? home : [];
    }
  });
  return failed.flat();
}

function isUnavailable(error: unknown): boolean {
  return error instanceof MinutehandError && error.code === "unavailable";
}

/** What a redrive of a keyed job must hold together with: its key still names it, or names none. */
export async function reclaimKey(ctx: Context, home: Home): Promise<Write | "taken"> {
  const key = keyKey(home.topic, home.key ?? "");
  const [holder] = (await ctx.pool.read([key])) as [KeyItem | undefined];
  if (!holder) return { insert: { ...key, v: home.v, id: home.id } };
  if (holder.id !== home.id) return "taken";
  return { change: { key, expect: { id: home.id }, set: {}, remove: ["expiresAt"] } };
}

/**
 * Those of one topic's finished jobs that a redrive may take: they have no key, or theirs names no other job. A job whose key
 * cannot be read is reported, and left to a later redrive.
 */
export async function withOwnKeys(ctx: Context, topic: string, homes: readonly Head[]): Promise<Head[]> {
  const keys = [...new Set(homes.flatMap(({ key }) => key ?? []))];
  const items = await readApart(
    ctx,
    keys.map((key) => keyKey(topic, key)),
  );
  const unread = items.find((item) => item instanceof Error);
  if (unread)
    ctx.report({ type: "trouble", topic, what: "reading keys of dead jobs", error: unread.message });
  const holders = new Map(keys.map((key, i) => [key, items[i] as KeyItem | undefined | Error]));
  return homes.filter(({ id, key = "" }) => {
    const holder = holders.get(key);
    return !(holder instanceof Error) && (holder?.id ?? id) === id;
  });
}

/** The id of the job that a caller's own key names. Throws `unavailable` where the key's item cannot be read. */
export async function jobOfKey(ctx: Context, topic: string, key: string): Promise<string | undefined> {
  const [item] = (await ctx.pool.read([keyKey(topic, key)])) as [KeyItem | undefined];
  return readable(item, `key ${key} of topic ${topic}`)?.id;
}
