import { MinutehandError } from "../core/errors.ts";
import { isFinished, isRunning } from "../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type KeyItem, keyKey } from "../core/items.ts";
import type { Enqueued, NewJob } from "./new-job.ts";
import type { Context, Write } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { replaceJob } from "./reschedule.ts";
import { sendIfNear } from "./send.ts";

const TRIES = 10;

/** The write that makes an `Idempotency-Key` name a job. */
export type NameOnce = (home: Home) => Write;

/**
 * Files a job under its caller's key: key item and home in one transaction, which also holds the finished
 * job that had the key to being finished still. On a live holder `onDuplicate` decides. `nameOnce` takes part
 * in whatever is written. `by`: the deadline of the times in `home`.
 *
 * Throws `job-already-exists`, `job-running`, `unavailable`: with `nameOnce` also when the `Idempotency-Key`
 * names a job by now.
 */
export async function fileKeyed(
  ctx: Context,
  job: NewJob,
  home: Home,
  nameOnce: NameOnce | undefined,
  by: number,
): Promise<Enqueued> {
  const key = keyKey(job.topic, job.key ?? "");
  for (let i = 0; i < TRIES; i++) {
    const [item] = (await ctx.pool.read([key])) as [KeyItem | undefined];
    const [holder] = item ? await readHomes(ctx, [item.id]) : [];
    // An own transaction whose answer was lost has left our id there.
    if (
      item?.id === home.id ||
      (!isLive(holder) && (await take(ctx, job, item, holder, home, nameOnce, by)))
    ) {
      await sendIfNear(ctx, [home]);
      ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
      return { outcome: "created", home };
    }
    const answer = isLive(holder) && (await meetHolder(ctx, job, holder, home.dueAt, nameOnce, by));
    if (answer) return answer;
  }
  throw new MinutehandError(
    "unavailable",
    `the key of a job of topic ${job.topic} keeps changing hands; repeat the call`,
  );
}

function isLive(holder: Home | undefined): holder is Home {
  return holder !== undefined && !isFinished(holder);
}

async function take(
  ctx: Context,
  job: NewJob,
  item: KeyItem | undefined,
  holder: Home | undefined,
  home: Home,
  nameOnce: NameOnce | undefined,
  by: number,
): Promise<boolean> {
  const key = keyKey(job.topic, job.key ?? "");
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
  if (nameOnce) writes.push(nameOnce(home));
  const outcome = await ctx.pool.transact(writes, by);
  if (!outcome.done && nameOnce && outcome.refused.at(-1) !== false) throw takenToken(job);
  return outcome.done;
}

/** Its request is being filed elsewhere: the caller looks again what it names. */
function takenToken(job: NewJob): MinutehandError {
  const what = `the Idempotency-Key of a job of topic ${job.topic}`;
  return new MinutehandError("unavailable", `${what} has come to name another; repeat the call`);
}

/** A live job holds the key. `undefined`: it did, but no longer as read. */
async function meetHolder(
  ctx: Context,
  job: NewJob,
  holder: Home,
  dueAt: number,
  nameOnce: NameOnce | undefined,
  by: number,
): Promise<Enqueued | undefined> {
  if (job.onDuplicate === "keep") {
    if (nameOnce && !(await ctx.pool.transact([nameOnce(holder)], by)).done) throw takenToken(job);
    // Its writer may have died before sending.
    if (!isRunning(holder, ctx.clock())) await sendIfNear(ctx, [holder]);
    return { outcome: "kept", home: holder };
  }
  if (job.onDuplicate === "replace") {
    const together = nameOnce && [nameOnce({ ...holder, dueAt })];
    const replaced = await replaceJob(ctx, holder, job, together);
    return replaced && { outcome: "replaced", home: replaced };
  }
  throw new MinutehandError(
    "job-already-exists",
    `key ${job.key} of topic ${job.topic} names job ${holder.id}, which is not finished`,
    { id: holder.id },
  );
}
