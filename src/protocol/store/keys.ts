import { RETRY_LOOK_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import type { Head, Home } from "../../core/home.ts";
import { keyItemKey } from "../../core/item-keys.ts";
import type { KeyItem } from "../../core/items.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { stillDead } from "./key-holder.ts";
import { fileLooks } from "./looks.ts";
import { readApart } from "./read-apart.ts";

const WIDTH = 8;

/** A dead job needs its `revision` here, because it may be redriven meanwhile. */
type Finished = { id: string; topic: string; key?: string; state?: string; revision?: number };

/** Sets a key item to the TTL of its finished job (s since the epoch). A failure is only reported: a finished job does not occupy its key. */
export async function releaseKey(ctx: Context, job: Finished, expiresAt: number, by: number): Promise<void> {
  if (job.key === undefined) return;
  try {
    await freeKey(ctx, job, expiresAt, by);
  } catch (error) {
    ctx.report({ type: "trouble", topic: job.topic, what: "releasing a key", error: messageOf(error) });
  }
}

async function freeKey(ctx: Context, job: Finished, expiresAt: number, by: number): Promise<void> {
  const { id, topic, key = "" } = job;
  const change = { key: keyItemKey(topic, key), expect: { id }, set: { expiresAt } };
  if (job.state === "dead") await ctx.pool.transact([stillDead(job), { change }], by);
  else await ctx.pool.change(change, by);
}

/** A look makes the audit free the key of a job cancelled long before its due time, when TTL may have deleted it, if this process dies. */
export async function lookAtKeys(ctx: Context, homes: readonly Head[], now: number): Promise<void> {
  const time = now + RETRY_LOOK_AFTER;
  const far = homes.filter(({ key, dueAt }) => key !== undefined && dueAt > time);
  const looks = far.map(({ id }) => ({ id, time }));
  try {
    await fileLooks(ctx, looks, now + WRITER_DEADLINE);
  } catch (error) {
    ctx.report({ type: "trouble", topic: "", what: "filing looks at keys", error: messageOf(error) });
  }
}

/** Some process died before it did. Answers the jobs whose partitions gave no answer. */
export async function releaseLeftKeys(ctx: Context, homes: readonly Home[], by: number): Promise<Home[]> {
  const keyed = homes.filter(({ key }) => key !== undefined);
  const reads = await readApart<KeyItem, Home>(ctx, keyed, ({ topic, key = "" }) => keyItemKey(topic, key));
  const failed = await inParallel(reads, WIDTH, async ([home, read]) => {
    const isFree = read.is === "found" && (read.value.id !== home.id || read.value.expiresAt !== undefined);
    if (read.is === "nothing" || isFree) return [];
    try {
      if (read.is === "unknown") throw read.error;
      await freeKey(ctx, home, home.expiresAt ?? 0, by);
      return [];
    } catch (error) {
      const what = `releasing the key of job ${home.id}`;
      ctx.report({ type: "trouble", topic: home.topic, what, error: messageOf(error) });
      const isUnavailable = error instanceof MinutehandError && error.code === "unavailable";
      return read.is === "unknown" || isUnavailable ? home : [];
    }
  });
  return failed.flat();
}
