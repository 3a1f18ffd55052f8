import { type MinutehandError, notFiledError } from "../../core/errors.ts";
import { type Home, wantedOf } from "../../core/home.ts";
import { homeKey, onceKey } from "../../core/item-keys.ts";
import { ITEM_VERSION, type Key, type OnceItem, type SharedOnceItem } from "../../core/items.ts";
import { addressOf, drawToken } from "../../core/job-id.ts";
import { type OnceNote, onceText } from "../../core/once.ts";
import { isUnreadable, requireReadable, unreadableError } from "../../core/readable.ts";
import { differentRequest } from "../change/calls.ts";
import type { Enqueued, NewJob, TimedJob } from "../new-job.ts";
import { isFar, spreadOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { syncPromotions } from "../send/far-ahead.ts";
import { fileLooks } from "../store/looks.ts";
import { isOnceOver, mayHaveEnded, onceItemTtl } from "../store/once-items.ts";
import { readHomes, readHomesApart } from "../store/read-job.ts";
import { sharedJobs, sharedTexts, shortHash } from "../store/shared-once-item.ts";
import { filedElsewhere, nextProlongedBy, notStoredAnyMore } from "./enqueue-once.ts";
import { filePlain, sendNear, sparesOf } from "./enqueue-plain.ts";

const TRIES = 10;

/** A job without a key, of a call with an `Idempotency-Key`. `home`: its home, with an id that this call has drawn. */
export type BatchJob = {
  readonly job: TimedJob;
  readonly home: Home;
  readonly batch: NonNullable<NonNullable<NewJob["once"]>["batch"]>;
};

type Answer = [BatchJob, Enqueued | MinutehandError];

/** A job that the once item names. `home`: its home, with the id that the item gives. */
type Named = { readonly asked: BatchJob; readonly home: Home };

/** The once item after a call. `added`: the jobs that this call itself has named. */
type Naming = { readonly item: SharedOnceItem | undefined; readonly added: ReadonlySet<BatchJob> };

/** The jobs share one once item, which is written before their homes, and gives each its id: docs/internals/decisions/once-items.md. */
export async function fileBatch(
  ctx: Context,
  jobs: readonly BatchJob[],
  shards: number,
  by: number,
): Promise<ReadonlyMap<BatchJob, Enqueued | MinutehandError>> {
  try {
    const { item, added } = await nameJobs(ctx, jobs, shards, by);
    const ids = item ? sharedJobs(item) : [];
    const refused: Answer[] = [];
    const fresh: Named[] = [];
    const repeated: Named[] = [];
    for (const asked of jobs) {
      const { job, home, batch } = asked;
      const found = ids[batch.at];
      if (!item || !found) refused.push([asked, job.refusal ?? filedElsewhere()]);
      else if (found.hash !== shortHash(job.once?.hash ?? ""))
        refused.push([asked, differentRequest({ id: found.id })]);
      else {
        const note = { token: batch.token, expiresAt: item.expiresAt };
        const isFresh = added.has(asked);
        const wantedAt = isFresh ? home.wantedAt : latestWantedAt(ctx, job);
        const named = { asked, home: notedHomeOf(ctx, { ...home, wantedAt }, found.id, note) };
        (isFresh ? fresh : repeated).push(named);
      }
    }
    const mayStore = item !== undefined && !mayHaveEnded(item, ctx.clock());
    const answers = await Promise.all([storeHomes(ctx, fresh, by), replay(ctx, repeated, { mayStore, by })]);
    return new Map([...refused, ...answers.flat()]);
  } catch (error) {
    return new Map(jobs.map((job) => [job, notFiledError(error)]));
  }
}

/** Makes the once item of a batch name these jobs. A refused job has a name only if an earlier call was allowed to file it. */
async function nameJobs(
  ctx: Context,
  jobs: readonly BatchJob[],
  shards: number,
  by: number,
): Promise<Naming> {
  const [{ job, batch }] = jobs as [BatchJob];
  const key = onceKey(job.topic, batch.token);
  let mine: (Naming & { readonly item: SharedOnceItem }) | undefined;
  for (let i = 0; i < TRIES; i++) {
    const before = await readShared(ctx, key);
    if (before && mine && isSame(before, mine.item)) return mine;
    const kept = before && !(await isBatchOver(ctx, before)) ? before : undefined;
    const named = kept ? sharedJobs(kept) : [];
    const added = jobs.filter(({ job, batch }) => !job.refusal && !named[batch.at]);
    if (added.length === 0) return { item: kept, added: new Set() };
    const base = kept ?? {
      ...key,
      v: ITEM_VERSION,
      expiresAt: 0,
      writtenAt: ctx.clock(),
      seed: drawToken(ctx.random),
      shards,
    };
    mine = { item: withJobs(ctx, base, named, added), added: new Set(added) };
    // rule: shared-once-item-before-its-homes
    if (await writeShared(ctx, mine.item, before, by)) return mine;
  }
  throw filedElsewhere();
}

async function readShared(ctx: Context, key: Key): Promise<SharedOnceItem | undefined> {
  const [read] = (await ctx.pool.read([key])) as [SharedOnceItem | OnceItem | undefined];
  const found = requireReadable(read, "the Idempotency-Key of jobs");
  // A call for a job with a key came with this `Idempotency-Key`.
  if (found && !("seed" in found)) throw differentRequest({ id: found.id });
  return found;
}

function isSame(one: SharedOnceItem, other: SharedOnceItem): boolean {
  const names = ["seed", "expiresAt", "dueAts", "hashes"] as const;
  return names.every((name) => one[name] === other[name]);
}

/** Says whether the item answers for none of its jobs any more. */
async function isBatchOver(ctx: Context, item: SharedOnceItem): Promise<boolean> {
  if (!mayHaveEnded(item, ctx.clock())) return false;
  const ids = sharedJobs(item).flatMap((job) => job?.id ?? []);
  const homes = await readHomes(ctx, ids);
  return homes.every((home) => !home || (!isUnreadable(home) && isOnceOver(item, home, ctx.clock())));
}

/** `named`: the jobs that the item has named so far, in the order of the batch. */
function withJobs(
  ctx: Context,
  base: Omit<SharedOnceItem, "dueAts" | "hashes">,
  named: ReturnType<typeof sharedJobs>,
  added: readonly BatchJob[],
): SharedOnceItem {
  const now = ctx.clock();
  const jobs: Parameters<typeof sharedTexts>[0][number][] = [...named];
  for (const { job, home, batch } of added)
    jobs[batch.at] = { dueAt: home.dueAt, hash: job.once?.hash ?? "" };
  const until = onceItemTtl(Math.max(...added.map(({ home }) => nextProlongedBy(home, now))));
  // Each write raises `expiresAt`. So `seed` and `expiresAt` show whether the item is still as it was read.
  return { ...base, expiresAt: Math.max(until, base.expiresAt + 1), ...sharedTexts(Array.from(jobs)) };
}

/** `false`: another call has changed the item since it was read, or the answer to our own write was lost. */
async function writeShared(
  ctx: Context,
  item: SharedOnceItem,
  before: SharedOnceItem | undefined,
  by: number,
): Promise<boolean> {
  if (before) {
    const { pk, sk, v: _, ...set } = item;
    const expect = { seed: before.seed, expiresAt: before.expiresAt };
    return (await ctx.pool.change({ key: { pk, sk }, expect, set }, by)).changed;
  }
  const [outcome] = await ctx.pool.insert([item], by);
  if (outcome instanceof Error) throw outcome;
  // rule: first-call-names-the-batch
  return outcome === "inserted";
}

/** No earlier than the time that the first call has asked for: nobody knows what it has drawn of the job's spread. */
function latestWantedAt(ctx: Context, job: TimedJob): number {
  return (job.wantedAt ?? job.dueAt) + spreadOf(ctx, job);
}

/** The home that a repeat asks for, with the item's note, and the id and due time of the first call. */
function notedHomeOf(ctx: Context, asked: Home, id: string, note: OnceNote): Home {
  const { time: dueAt } = addressOf(id);
  const { hasSchedule: _, askedLate: __, ...fields } = asked;
  const wanted = wantedOf(asked, dueAt);
  const home = { ...fields, ...homeKey(id), id, dueAt, ...wanted, once: onceText([note]) };
  return isFar(ctx, home.dueAt) ? { ...home, hasSchedule: true } : home;
}

async function storeHomes(ctx: Context, named: readonly Named[], by: number): Promise<Answer[]> {
  const homes = named.map(({ home }) => home);
  const outcomes = await filePlain(ctx, homes, by);
  return outcomes.map((outcome, i) => [(named[i] as Named).asked, outcome]);
}

/** `mayStore`: homes that are missing were surely never stored. */
async function replay(
  ctx: Context,
  named: readonly Named[],
  { mayStore, by }: { mayStore: boolean; by: number },
): Promise<Answer[]> {
  const reads = await readHomesApart(
    ctx,
    named.map((one) => ({ ...one, id: one.home.id })),
  );
  const refused: Answer[] = [];
  const found: Named[] = [];
  const missing: Named[] = [];
  for (const [one, read] of reads) {
    const { asked } = one;
    if (read.is === "unknown") refused.push([asked, notFiledError(read.error)]);
    else if (read.is === "unreadable") refused.push([asked, unreadableError(read.home)]);
    else if (read.is === "found") found.push({ asked, home: read.value });
    else if (asked.job.refusal) refused.push([asked, asked.job.refusal]);
    else if (mayStore) missing.push(one);
    else refused.push([asked, notStoredAnyMore(one.home.id)]);
  }
  const unsent = await sendNear(ctx, sparesOf(found.map(({ home }) => home)));
  const answers = found.map(({ asked, home }): Answer => {
    return [asked, unsent.get(home.id) ?? { outcome: "replayed", home }];
  });
  return [...refused, ...answers, ...(await storeMissing(ctx, missing, by))];
}

async function storeMissing(ctx: Context, missing: readonly Named[], by: number): Promise<Answer[]> {
  const now = ctx.clock();
  // The audit may have read these times already. So looks make a later audit read the jobs.
  const past = missing.filter(({ home }) => home.dueAt < now);
  const looks = past.map(({ home }) => ({ id: home.id, time: now }));
  try {
    await fileLooks(ctx, looks, by);
    const stored = await storeHomes(ctx, missing, by);
    const homes = stored.flatMap(([, outcome]) => (outcome instanceof Error ? [] : outcome.home));
    await syncPromotions(ctx, homes);
    return stored.map(([asked, outcome]) => [
      asked,
      outcome instanceof Error ? outcome : { ...outcome, outcome: "replayed" },
    ]);
  } catch (error) {
    return missing.map(({ asked }) => [asked, notFiledError(error)]);
  }
}
