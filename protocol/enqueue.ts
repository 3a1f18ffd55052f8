import { inParallel } from "../core/batches.ts";
import { ONCE_AFTER, STALE_AFTER, WRITER_DEADLINE } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { isNear } from "../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type OnceItem, onceKey, ttl } from "../core/items.ts";
import { addressOf, drawJobId } from "../core/job-id.ts";
import { fileKeyed, type NameOnce } from "./enqueue-keyed.ts";
import type { Context, Write } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { policyOf, send, sendIfNear } from "./send.ts";
import { shardCount } from "./shards.ts";

/** A job to enqueue, validated. Times are ms. */
export type NewJob = {
  topic: string;
  /** JSON text, as `toJson` writes it. */
  body: string;
  /** ms since the epoch; a time in the past becomes now. */
  dueAt: number;
  key?: string;
  onDuplicate?: "reject" | "keep" | "replace";
  headers?: Record<string, string>;
  expiresAfter?: number;
  maxAttempts?: number;
  tag?: string;
  group?: string;
  /** An `Idempotency-Key` and the hash of the request it came with. */
  once?: { token: string; hash: string };
};

export type Enqueued = { outcome: "created" | "kept" | "replaced" | "replayed"; home: Home };

/**
 * Files one job. Throws `unknown-topic`, `bad-request` (a key on an untracked topic), `job-already-exists`,
 * `job-running`, `idempotency-mismatch`, or `unavailable`: then nothing was acknowledged and the call can be
 * repeated.
 */
export async function enqueue(ctx: Context, job: NewJob): Promise<Enqueued> {
  const [result] = await enqueueMany(ctx, [job]);
  if (!result) throw new MinutehandError("unavailable", "the job was not filed");
  if (result instanceof Error) throw result;
  return result;
}

/** Files many jobs, each on its own, and answers in their order. */
export async function enqueueMany(
  ctx: Context,
  jobs: readonly NewJob[],
): Promise<(Enqueued | MinutehandError)[]> {
  const results: (Enqueued | MinutehandError)[] = [];
  const shards = await shardCount(ctx);
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  const plain: { at: number; home: Home }[] = [];
  const conditional: { at: number; job: NewJob; home: Home }[] = [];
  for (const [at, job] of jobs.entries()) {
    const refusal = refusalOf(ctx, job);
    if (refusal) {
      results[at] = refusal;
      continue;
    }
    const home = homeOf(ctx, job, shards, now);
    if (job.key !== undefined || job.once) conditional.push({ at, job, home });
    else plain.push({ at, home });
  }

  for (const [i, outcome] of (await filePlain(ctx, plain, by)).entries())
    results[plain[i]?.at ?? -1] = outcome;
  // Jobs of one key are taken in order; different ones do not wait for each other.
  const lines = Map.groupBy(conditional, ({ at, job }) =>
    job.key === undefined ? at : `${job.topic} ${job.key}`,
  );
  await inParallel([...lines.values()], 8, async (line) => {
    for (const { at, job, home } of line)
      results[at] = await attempt(() => fileConditional(ctx, job, home, by));
  });
  return results;
}

function refusalOf(ctx: Context, job: NewJob): MinutehandError | undefined {
  if (!Object.hasOwn(ctx.policy.topics, job.topic)) {
    const known = Object.keys(ctx.policy.topics).join(", ");
    return new MinutehandError("unknown-topic", `topic must be one of ${known}, got ${job.topic}`);
  }
  if (job.key !== undefined && policyOf(ctx, job.topic).tracking === "none") {
    return new MinutehandError("bad-request", `a job of the untracked topic ${job.topic} can have no key`);
  }
  return undefined;
}

function homeOf(ctx: Context, job: NewJob, shards: number, now: number): Home {
  const dueAt = Math.max(job.dueAt, now);
  const id = drawJobId(dueAt, shards, ctx.random);
  const untracked = policyOf(ctx, job.topic).tracking === "none";
  const { topic, body, key, headers, expiresAfter, maxAttempts, tag, group } = job;
  return {
    ...homeKey(id),
    v: ITEM_VERSION,
    id,
    topic,
    body,
    state: "scheduled",
    dueAt,
    wantedAt: dueAt,
    revision: 0,
    attempt: 0,
    createdAt: now,
    ...(key === undefined ? {} : { key }),
    ...(headers === undefined ? {} : { headers }),
    ...(expiresAfter === undefined ? {} : { expiresAfter }),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(tag === undefined ? {} : { tag }),
    ...(group === undefined ? {} : { group }),
    ...(untracked ? { untracked: true, expiresAt: ttl(dueAt + STALE_AFTER) } : {}),
  };
}

async function filePlain(
  ctx: Context,
  jobs: readonly { home: Home }[],
  by: number,
): Promise<(Enqueued | MinutehandError)[]> {
  const homes = jobs.map(({ home }) => home);
  const straight = homes.filter((home) => home.untracked && isNear(home.dueAt, ctx.clock()));
  const filed = homes.filter((home) => !straight.includes(home));
  const inserted = await ctx.pool.insert(filed, by);
  const refused = new Map<string, MinutehandError>();
  for (const [i, home] of filed.entries()) {
    // An id just drawn that exists is one's own earlier effect.
    const outcome = inserted[i];
    if (outcome instanceof Error) refused.set(home.id, unavailable(outcome));
  }
  // Untracked ones too: near only now, the sweep may have passed while they were being written.
  const stored = filed.filter((home) => !refused.has(home.id));
  try {
    await sendIfNear(ctx, stored);
  } catch (error) {
    // Filed, but perhaps for the audit to find: not on time, so not acknowledged.
    for (const home of stored) if (isNear(home.dueAt, ctx.clock())) refused.set(home.id, unavailable(error));
  }
  // A near untracked job has no home: what SQS does not take is not acknowledged.
  for (const [id, sent] of await send(ctx, straight)) {
    if (sent.outcome !== "sent") refused.set(id, unavailable(new Error(sent.reason)));
  }
  return homes.map((home) => {
    const refusal = refused.get(home.id);
    if (refusal) return refusal;
    ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
    return { outcome: "created", home };
  });
}

/** One job with a key, an `Idempotency-Key`, or both. */
async function fileConditional(ctx: Context, job: NewJob, home: Home, by: number): Promise<Enqueued> {
  const { once } = job;
  if (!once) return fileKeyed(ctx, job, home, undefined, by);
  const stored = await readOnce(ctx, job.topic, once.token);
  if (stored && !isOver(stored, ctx.clock())) return replay(ctx, stored, once.hash, home);
  const nameOnce = (named: Home): Write => onceWrite(named, once, stored);
  try {
    if (job.key !== undefined) return await fileKeyed(ctx, job, home, nameOnce, by);
    return await fileOnce(ctx, home, nameOnce, by);
  } catch (error) {
    // The same request may have been filed meanwhile, by a repeat of it.
    const theirs = await readOnce(ctx, job.topic, once.token);
    if (theirs && !isOver(theirs, ctx.clock())) return replay(ctx, theirs, once.hash, home);
    throw error;
  }
}

async function readOnce(ctx: Context, topic: string, token: string): Promise<OnceItem | undefined> {
  const [stored] = await ctx.pool.read([onceKey(topic, token)]);
  return stored as OnceItem | undefined;
}

/** TTL deletes days late: an item past its time is as good as gone. */
function isOver(once: OnceItem, now: number): boolean {
  return once.expiresAt * 1000 <= now;
}

function onceWrite(
  home: Home,
  { token, hash }: NonNullable<NewJob["once"]>,
  over: OnceItem | undefined,
): Write {
  const key = onceKey(home.topic, token);
  const says = { id: home.id, hash, expiresAt: ttl(home.dueAt + ONCE_AFTER) };
  return over
    ? { change: { key, expect: { id: over.id }, set: says } }
    : { insert: { ...key, v: ITEM_VERSION, ...says } };
}

async function fileOnce(ctx: Context, home: Home, nameOnce: NameOnce, by: number): Promise<Enqueued> {
  if (home.untracked && isNear(home.dueAt, ctx.clock())) {
    // To SQS first: a once item without its job would answer for nothing.
    const [result] = await filePlain(ctx, [{ home }], by);
    if (!result || result instanceof Error) throw result ?? unavailable(new Error("not sent"));
    try {
      await ctx.pool.transact([nameOnce(home)], by);
    } catch (error) {
      // It is on its way: a refusal now would only bring it twice.
      ctx.report({
        type: "trouble",
        topic: home.topic,
        what: "noting an Idempotency-Key",
        error: messageOf(error),
      });
    }
    return result;
  }
  const outcome = await ctx.pool.transact([{ insert: home }, nameOnce(home)], by);
  if (!outcome.done && !(await readHomes(ctx, [home.id]))[0]) {
    throw unavailable(new Error("the same request was being filed elsewhere"));
  }
  await sendIfNear(ctx, [home]);
  ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
  return { outcome: "created", home };
}

async function replay(ctx: Context, stored: OnceItem, hash: string, asked: Home): Promise<Enqueued> {
  if (stored.hash !== hash) {
    throw new MinutehandError(
      "idempotency-mismatch",
      "an Idempotency-Key names one request: it was used with a different one",
      { id: stored.id },
    );
  }
  const [home] = await readHomes(ctx, [stored.id]);
  if (!home && asked.untracked) {
    // Never stored: the same request and the id say all there is to say.
    return { outcome: "replayed", home: { ...asked, id: stored.id, dueAt: addressOf(stored.id).time } };
  }
  if (!home) {
    throw new MinutehandError(
      "job-not-found",
      `job ${stored.id} of this Idempotency-Key is not stored any more`,
      {
        id: stored.id,
      },
    );
  }
  // Its writer may have died before sending.
  if (home.state === "scheduled" && !home.untracked) await sendIfNear(ctx, [home]);
  return { outcome: "replayed", home };
}

async function attempt(file: () => Promise<Enqueued>): Promise<Enqueued | MinutehandError> {
  try {
    return await file();
  } catch (error) {
    return unavailable(error);
  }
}

/** One job's trouble is no other's of its batch. */
function unavailable(cause: unknown): MinutehandError {
  if (cause instanceof MinutehandError) return cause;
  return new MinutehandError("unavailable", `the job was not filed: ${messageOf(cause)}`, {}, cause);
}
