import { MinutehandError } from "../core/errors.ts";
import { isFinished, isRunning } from "../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type KeyItem, keyKey, type OnceItem } from "../core/items.ts";
import type { Enqueued, NewJob } from "./enqueue.ts";
import type { Context, Write } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { replaceJob } from "./reschedule.ts";
import { sendIfNear } from "./send.ts";

const TRIES = 10;

/**
 * Files a job under its caller's key: key item and home in one transaction, which also holds the finished
 * job that had the key to being finished still. On a live holder `onDuplicate` decides.
 *
 * `by`: the deadline of the times in `home`. `undefined`: one of `together` was refused. Throws `job-already-exists`, `job-running`, `unavailable`.
 */
export async function fileKeyed(
  ctx: Context,
  job: NewJob,
  home: Home,
  together: readonly Write[],
  by: number,
): Promise<Enqueued | undefined> {
  const key = keyKey(job.topic, job.key ?? "");
  for (let i = 0; i < TRIES; i++) {
    const [item] = (await ctx.pool.read([key])) as [KeyItem | undefined];
    const [holder] = item ? await readHomes(ctx, [item.id]) : [];
    if (item?.id !== home.id && holder && !isFinished(holder)) {
      const answer = await meetHolder(ctx, job, holder, together, by);
      if (answer === "changed") continue;
      return answer;
    }
    const filed = item?.id === home.id || (await take(ctx, key, item, holder, home, together, by));
    if (filed === "together-refused") return undefined;
    if (!filed) continue;
    await sendIfNear(ctx, [home]);
    ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
    return { outcome: "created", home };
  }
  throw new MinutehandError(
    "unavailable",
    `key ${job.key} of topic ${job.topic} keeps changing hands; repeat the call`,
  );
}

async function take(
  ctx: Context,
  key: { pk: string; sk: string },
  item: KeyItem | undefined,
  holder: Home | undefined,
  home: Home,
  together: readonly Write[],
  by: number,
): Promise<boolean | "together-refused"> {
  const writes: Write[] = [
    { insert: home },
    item
      ? { change: { key, expect: { id: item.id }, set: { id: home.id }, remove: ["expiresAt"] } }
      : { insert: { ...key, v: ITEM_VERSION, id: home.id } },
  ];
  if (item) {
    const expect = holder ? { state: holder.state, revision: holder.revision } : "absent";
    writes.push({ check: { key: homeKey(item.id), expect } });
  }
  const outcome = await ctx.pool.transact([...writes, ...together], by);
  if (outcome.done) return true;
  if (outcome.refused.slice(writes.length).some((refused) => refused !== false)) {
    // The once item is there already: by our own lost answer if our home is too.
    const [mine] = await readHomes(ctx, [home.id]);
    return mine ? true : "together-refused";
  }
  return false;
}

/** A live job holds the key. `changed`: it did, but no longer as read. */
async function meetHolder(
  ctx: Context,
  job: NewJob,
  holder: Home,
  together: readonly Write[],
  by: number,
): Promise<Enqueued | undefined | "changed"> {
  if (job.onDuplicate === "keep") {
    if (await nameOnce(ctx, holder, together, by)) return undefined;
    // Its writer may have died before sending.
    if (!isRunning(holder, ctx.clock())) await sendIfNear(ctx, [holder]);
    return { outcome: "kept", home: holder };
  }
  if (job.onDuplicate === "replace") {
    if (await nameOnce(ctx, holder, together, by)) return undefined;
    const replaced = await replaceJob(ctx, holder, job);
    return replaced ? { outcome: "replaced", home: replaced } : "changed";
  }
  throw new MinutehandError(
    "job-already-exists",
    `key ${job.key} of topic ${job.topic} names job ${holder.id}, which is not finished`,
    { id: holder.id },
  );
}

/** Makes an `Idempotency-Key` name the job that was there. Whether somebody else's request has it already. */
async function nameOnce(
  ctx: Context,
  holder: Home,
  together: readonly Write[],
  by: number,
): Promise<boolean> {
  const naming = together.map((write): Write => {
    if ("insert" in write) return { insert: { ...write.insert, id: holder.id } as OnceItem };
    if ("change" in write)
      return { change: { ...write.change, set: { ...write.change.set, id: holder.id } } };
    return write;
  });
  if (naming.length === 0) return false;
  const outcome = await ctx.pool.transact(naming, by);
  if (outcome.done) return false;
  return !outcome.refused.some((stands) => stands !== false && (stands as OnceItem)?.id === holder.id);
}
