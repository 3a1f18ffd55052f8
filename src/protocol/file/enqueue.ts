import { UNTRACKED_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { type MinutehandError, notFiledError } from "../../core/errors.ts";
import { type Home, wantedOf } from "../../core/home.ts";
import { homeKey, ttl } from "../../core/item-keys.ts";
import { ITEM_VERSION } from "../../core/items.ts";
import { drawJobId } from "../../core/job-id.ts";
import { keptOptionsOf } from "../../core/job-options.ts";
import { onceText, scheduleIn } from "../../core/once.ts";
import { drawWithin } from "../../core/spread.ts";
import { stateAfter } from "../../core/states.ts";
import { inParallel } from "../../general/batches.ts";
import type { Enqueued, NewJob, TimedJob } from "../new-job.ts";
import { isFar, isNamed, policyOf, spreadOf, unknownTopic, untrackedRefusal } from "../policy.ts";
import type { Context } from "../ports.ts";
import { syncPromotions } from "../send/far-ahead.ts";
import { knownShards } from "../store/shards.ts";
import { type BatchJob, fileBatch } from "./enqueue-batch.ts";
import { fileKeyed } from "./enqueue-keyed.ts";
import { fileOnce } from "./enqueue-once.ts";
import { filePlain } from "./enqueue-plain.ts";

/** How many homes a job with a key or a once item of its own gets at most if other calls displace it. */
const TRIES = 5;

/**
 * @throws the job's own `refusal`; `unknown-topic`; `untracked-topic`; `job-already-exists`; `job-running`; `idempotency-mismatch`;
 * `job-not-found`: the job of the `Idempotency-Key` is not stored any more; `unavailable`: nothing was acknowledged, so repeat the call
 */
export async function enqueue(ctx: Context, job: NewJob): Promise<Enqueued> {
  const [result] = (await enqueueMany(ctx, [job])) as [Enqueued | MinutehandError];
  if (result instanceof Error) throw result;
  return result;
}

/** Answers in the order of the jobs. One job's failure does not affect the others. A repeat files untracked jobs again. */
export async function enqueueMany(
  ctx: Context,
  jobs: readonly NewJob[],
): Promise<(Enqueued | MinutehandError)[]> {
  const { filed: shards } = await knownShards(ctx);
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  const asked = jobs.map((job, at) => kindOf(ctx, job, at, shards, now));
  const ofKind = <K extends Asked["kind"]>(kind: K) =>
    asked.filter((one): one is Extract<Asked, { kind: K }> => one.kind === kind);
  const plain = ofKind("plain");
  const homes = plain.map(({ home }) => home);
  const answers = await Promise.all([
    filePlain(ctx, homes, by).then((filed) =>
      plain.map(({ at }, i): Answer => [at, filed[i] as Enqueued | MinutehandError]),
    ),
    fileInLines(ctx, ofKind("conditional"), by),
    fileInBatches(ctx, ofKind("batched"), shards, by),
  ]);
  const refused = ofKind("refused").map(({ at, refusal }): Answer => [at, refusal]);
  const results: (Enqueued | MinutehandError)[] = [];
  for (const [at, result] of [...refused, ...answers.flat()]) results[at] = result;
  const far = results.flatMap(promotedBy);
  if (far.length > 0) await syncPromotions(ctx, far);
  return results;
}

type Asked = { readonly at: number } & (
  | { readonly kind: "refused"; readonly refusal: MinutehandError }
  | { readonly kind: "plain"; readonly home: Home }
  | ({ readonly kind: "batched" } & BatchJob)
  | { readonly kind: "conditional"; readonly job: TimedJob; readonly newHome: () => Home }
);
type Answer = readonly [at: number, result: Enqueued | MinutehandError];

function kindOf(ctx: Context, asked: NewJob, at: number, shards: number, now: number): Asked {
  const refusal = refusalOf(ctx, asked);
  const isUntracked = policyOf(ctx, asked.topic).tracking === "none";
  // The request may be a repeat from before a change of the topic's settings. Such a repeat must get its job, so `fileOnce` decides.
  if (refusal && (!asked.once || isUntracked || refusal.code === "unknown-topic"))
    return { at, kind: "refused", refusal };
  const job = { ...asked, ...timesOf(ctx, asked, now), ...(refusal && { refusal }) };
  const newHome = (): Home => homeOf(ctx, job, shards, now);
  const batch = batchOf(job);
  if (isUntracked || (job.key === undefined && !job.once)) return { at, kind: "plain", home: newHome() };
  return batch
    ? { at, kind: "batched", job, home: newHome(), batch }
    : { at, kind: "conditional", job, newHome };
}

/** Jobs of one key are filed in their order. Others do not wait for each other: a throttled partition delays only its own. */
async function fileInLines(
  ctx: Context,
  jobs: readonly Extract<Asked, { kind: "conditional" }>[],
  by: number,
): Promise<Answer[]> {
  const lines = Map.groupBy(jobs, ({ at, job }) => (job.key === undefined ? at : `${job.topic} ${job.key}`));
  const answers = await inParallel([...lines.values()], lines.size, async (line) => {
    const filed: Answer[] = [];
    for (const { at, job, newHome } of line) filed.push([at, await fileConditional(ctx, job, newHome, by)]);
    return filed;
  });
  return answers.flat();
}

async function fileInBatches(
  ctx: Context,
  jobs: readonly Extract<Asked, { kind: "batched" }>[],
  shards: number,
  by: number,
): Promise<Answer[]> {
  const batches = [...Map.groupBy(jobs, ({ job, batch }) => `${job.topic} ${batch.token}`).values()];
  const answers = await inParallel(batches, batches.length, async (some) => {
    const filed = await fileBatch(ctx, some, shards, by);
    return some.map((one): Answer => [one.at, filed.get(one) as Enqueued | MinutehandError]);
  });
  return answers.flat();
}

/** The batch with which a job shares a once item. Jobs with keys, of events and of occurrences have items of their own. */
function batchOf({ key, once }: NewJob): BatchJob["batch"] | undefined {
  if (!once || key !== undefined || once.lasts !== undefined) return undefined;
  return once.batch ?? { token: once.token, at: 0 };
}

function refusalOf(ctx: Context, job: NewJob): MinutehandError | undefined {
  if (!isNamed(ctx, job.topic)) return unknownTopic(ctx, job.topic);
  return untrackedRefusal(ctx, job) ?? job.refusal;
}

/** The job whose schedule must be written after this enqueue. A kept or replayed job has its schedule already. */
function promotedBy(result: Enqueued | MinutehandError): Home[] {
  if (result instanceof Error) return [];
  const { outcome, home } = result;
  return home.hasSchedule && outcome !== "kept" && outcome !== "replayed" ? [home] : [];
}

/** Jobs that are filed late are spread from now on. Each is late since the time that was asked for, with its own random part. */
function timesOf(ctx: Context, job: NewJob, now: number): Pick<TimedJob, "dueAt" | "wantedAt"> {
  const { dueAt: asked = now } = job;
  const spread = spreadOf(ctx, job);
  const drawn = spread === 0 ? 0 : drawWithin(spread, ctx.random);
  return { dueAt: Math.max(asked, now) + drawn, ...(asked < now && { wantedAt: asked + drawn }) };
}

function homeOf(ctx: Context, job: TimedJob, shards: number, now: number): Home {
  const { topic, body, key, chain, traceparent, maxDelay } = job;
  const { createdAt = now, wantedAt = job.dueAt } = job;
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
    // The bound of an event that comes late may have passed.
    ...wantedOf({ wantedAt: Math.min(wantedAt, postponeUntil ?? wantedAt) }, dueAt),
    ...stateAfter("file", { dueAt, revision: 0, attempt: 0 }),
    createdAt,
    // Only a job that an event files comes with a `createdAt`.
    ...(job.createdAt === undefined ? {} : { eventAt: job.createdAt, askedAt: now }),
    ...(key === undefined ? {} : { key }),
    ...(chain === undefined ? {} : { chain }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(postponeUntil === undefined ? {} : { postponeUntil }),
    ...keptOptionsOf(job),
    ...(untracked ? untrackedOnly(job, dueAt) : {}),
    ...(!untracked && isFar(ctx, dueAt) ? { hasSchedule: true } : {}),
  };
}

/** An untracked job has no once item. Only the token of a schedule is noted, so that the job's run knows the schedule. */
function untrackedOnly(
  { once }: TimedJob,
  dueAt: number,
): Pick<Home, "untracked" | "once"> & { expiresAt: number } {
  const expiresAt = ttl(dueAt + UNTRACKED_AFTER);
  const note = onceText(once ? [{ token: once.token, expiresAt }] : []);
  const isOfSchedule = scheduleIn(note).schedule !== undefined;
  return { untracked: true, expiresAt, ...(isOfSchedule && { once: note }) };
}

/** Files a job with a key or a once item of its own, with another id if another call displaces it. */
async function fileConditional(
  ctx: Context,
  job: TimedJob,
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
    // One of the other calls has filed its job, or others call without end.
    return notFiledError(new Error("other calls of the same key keep displacing this one"));
  } catch (error) {
    return notFiledError(error);
  }
}
