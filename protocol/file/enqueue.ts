import { UNTRACKED_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { type MinutehandError, notFiledError } from "../../core/errors.ts";
import { type Home, homeKey, ITEM_VERSION, ttl } from "../../core/items.ts";
import { drawJobId } from "../../core/job-id.ts";
import { keptOptionsOf } from "../../core/job-options.ts";
import { drawWithin } from "../../core/spread.ts";
import { stateAfter } from "../../core/states.ts";
import { inParallel } from "../../general/batches.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import { isFar, isNamed, policyOf, unknownTopic, untrackedRefusal } from "../policy.ts";
import type { Context } from "../ports.ts";
import { syncPromotions } from "../send/far-ahead.ts";
import { knownShards } from "../store/shards.ts";
import { type BatchJob, fileBatch } from "./enqueue-batch.ts";
import { fileKeyed } from "./enqueue-keyed.ts";
import { fileOnce } from "./enqueue-once.ts";
import { filePlain } from "./enqueue-plain.ts";

/** How many homes, each with an id of its own, a job with a key or an `Idempotency-Key` gets at most if other calls displace it. */
const TRIES = 5;

/**
 * Files one job.
 * @throws the job's own `refusal`; `unknown-topic`; `untracked-topic`; `job-already-exists`; `job-running`; `idempotency-mismatch`;
 * `job-not-found`: the job of the `Idempotency-Key` is not stored any more; `unavailable`: nothing was acknowledged, so repeat the call
 */
export async function enqueue(ctx: Context, job: NewJob): Promise<Enqueued> {
  const [result] = (await enqueueMany(ctx, [job])) as [Enqueued | MinutehandError];
  if (result instanceof Error) throw result;
  return result;
}

/** Files many jobs, and answers in their order. One job's failure does not affect the others. A repeat files untracked jobs again. */
export async function enqueueMany(
  ctx: Context,
  jobs: readonly NewJob[],
): Promise<(Enqueued | MinutehandError)[]> {
  const results: (Enqueued | MinutehandError)[] = [];
  const { filed: shards } = await knownShards(ctx);
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  const plain: { at: number; home: Home }[] = [];
  const conditional: { at: number; job: NewJob; newHome: () => Home }[] = [];
  const batched: (BatchJob & { at: number })[] = [];
  for (const [at, asked] of jobs.entries()) {
    const refusal = refusalOf(ctx, asked);
    const isUntracked = policyOf(ctx, asked.topic).tracking === "none";
    // The request may be a repeat from before a change of the topic's settings. Such a repeat must get its job, so `fileOnce` decides.
    if (refusal && (!asked.once || isUntracked || refusal.code === "unknown-topic")) {
      results[at] = refusal;
      continue;
    }
    const job = { ...asked, dueAt: spreadDueAt(ctx, asked, now), ...(refusal && { refusal }) };
    const newHome = (): Home => homeOf(ctx, job, shards, now);
    const batch = batchOf(job);
    if (isUntracked || (job.key === undefined && !job.once)) plain.push({ at, home: newHome() });
    else if (batch) batched.push({ at, job, home: newHome(), batch });
    else conditional.push({ at, job, newHome });
  }

  const homes = plain.map(({ home }) => home);
  const filed = filePlain(ctx, homes, by);
  // Jobs of one key are filed in their order. Others do not wait for each other, so that a throttled partition delays only its own jobs.
  const lines = Map.groupBy(conditional, ({ at, job }) =>
    job.key === undefined ? at : `${job.topic} ${job.key}`,
  );
  const inLines = inParallel([...lines.values()], lines.size, async (line) => {
    for (const { at, job, newHome } of line) results[at] = await fileConditional(ctx, job, newHome, by);
  });
  const batches = [...Map.groupBy(batched, ({ job, batch }) => `${job.topic} ${batch.token}`).values()];
  const inBatches = inParallel(batches, batches.length, async (jobs) => {
    const answers = await fileBatch(ctx, jobs, shards, by);
    for (const one of jobs) results[one.at] = answers.get(one) as Enqueued | MinutehandError;
  });
  const [outcomes] = await Promise.all([filed, inLines, inBatches]);
  for (const [i, { at }] of plain.entries()) results[at] = outcomes[i] as Enqueued | MinutehandError;
  const far = results.flatMap(promotedBy);
  if (far.length > 0) await syncPromotions(ctx, far);
  return results;
}

/** Answers the batch with which a job shares a once item. A job with a key, of an event or of an occurrence has an item of its own. */
function batchOf({ key, once }: NewJob): BatchJob["batch"] | undefined {
  if (!once || key !== undefined || once.lasts !== undefined) return undefined;
  return once.batch ?? { token: once.token, at: 0 };
}

function refusalOf(ctx: Context, job: NewJob): MinutehandError | undefined {
  if (!isNamed(ctx, job.topic)) return unknownTopic(ctx, job.topic);
  return untrackedRefusal(ctx, job) ?? job.refusal;
}

/** Answers the job whose schedule must be written after this enqueue. A kept or replayed job has its schedule already. */
function promotedBy(result: Enqueued | MinutehandError): Home[] {
  if (result instanceof Error) return [];
  const { outcome, home } = result;
  return home.hasSchedule && outcome !== "kept" && outcome !== "replayed" ? [home] : [];
}

/** Answers when a job is due: at the requested time, or now if that time is past, plus a random part of its spread. */
function spreadDueAt(ctx: Context, job: NewJob, now: number): number {
  const { spread = (policyOf(ctx, job.topic).spread ?? 0) * 1000 } = job;
  const dueAt = Math.max(job.dueAt, now);
  return spread === 0 ? dueAt : dueAt + drawWithin(spread, ctx.random);
}

/** Makes the home of a new job, with a new random id. */
function homeOf(ctx: Context, job: NewJob, shards: number, now: number): Home {
  const { topic, body, key, maxDelay } = job;
  const { createdAt = now } = job;
  const postponeUntil = maxDelay === undefined ? undefined : createdAt + maxDelay;
  const dueAt = Math.max(Math.min(job.dueAt, postponeUntil ?? job.dueAt), now);
  const id = drawJobId(dueAt, shards, ctx.random);
  const untracked = policyOf(ctx, job.topic).tracking === "none";
  return {
    ...homeKey(id),
    v: ITEM_VERSION,
    id,
    topic,
    body,
    wantedAt: dueAt,
    ...stateAfter("file", { dueAt, revision: 0, attempt: 0 }),
    createdAt,
    // Only a job that an event files comes with a `createdAt`.
    ...(job.createdAt === undefined ? {} : { eventAt: job.createdAt, askedAt: now }),
    ...(key === undefined ? {} : { key }),
    ...(postponeUntil === undefined ? {} : { postponeUntil }),
    ...keptOptionsOf(job),
    ...(untracked ? { untracked: true, expiresAt: ttl(dueAt + UNTRACKED_AFTER) } : {}),
    ...(!untracked && isFar(ctx, dueAt) ? { hasSchedule: true } : {}),
  };
}

/** Files a job with a key or a once item of its own. Tries again with another id if another call keeps it from storing its home. */
async function fileConditional(
  ctx: Context,
  job: NewJob,
  newHome: () => Home,
  by: number,
): Promise<Enqueued | MinutehandError> {
  try {
    for (let i = 0; i < TRIES; i++) {
      const filed = job.once
        ? await fileOnce(ctx, job, job.once, newHome(), by)
        : await fileKeyed(ctx, job, newHome(), undefined, by);
      if (filed !== "displaced") return filed;
    }
    // Each time another call has taken the place of this one. So one of them has filed its job, or others call without end.
    return notFiledError(new Error("other calls of the same key keep displacing this one"));
  } catch (error) {
    return notFiledError(error);
  }
}
