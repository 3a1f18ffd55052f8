import { BUCKET, BUCKETS_A_PAGE, COUNT_BYTES, LATE_AFTER, TROUBLED_COUNTED } from "../../core/constants.ts";
import { type Head, headOf, startsAt } from "../../core/home.ts";
import { bucketOf, idIn, minuteOf, TROUBLED_TOPICS, timeOf, troubledIn } from "../../core/item-keys.ts";
import type { Cursor } from "../../core/items.ts";
import { beforeTime, END, justAfter, type Position, storedAuditPosition } from "../../core/position.ts";
import { isUnreadable, jobIdIn, layoutTrouble } from "../../core/readable.ts";
import { chunksOf, inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { listedTopics } from "../store/listed-topics.ts";
import { readHomesApart } from "../store/read-job.ts";
import { type Entry, readEntries } from "./due-jobs.ts";
import { waitsOf } from "./waits.ts";

/** The late jobs of a topic, and those that wait for a retry, as of one moment. Times are ms since the epoch. */
export type Troubles = {
  /** `atLeast`: the read ended at a bound, or a partition could not be read, so there may be more. `since`: of the oldest that was found. */
  late: { count: number; atLeast?: true; since?: number };
  /** `next`: when the first retry is due. `error`: of the attempt that failed last, at `failedAt`. */
  retrying: { count: number; atLeast?: true; next?: number; error?: string; failedAt?: number };
  /** Of the jobs of all topics that were due since then, only a part was looked at: there were too many, or a minute could not be read. */
  sampledSince?: number;
};

const WIDTH = 32;
/** How far back the jobs of a shard without a cursor are looked at: no tick has run since the queue was deployed. ms. */
const NEVER_SWEPT = 60 * BUCKET;
type Found = { readonly homes: readonly Head[]; readonly isCut: boolean };

/**
 * Looks at the jobs that may be late or wait for a retry, with bounded reads: entries of the minutes that audits have not reached, and the notes
 * that audits and retries have left for each topic. So a late job is found although many jobs of other topics are held, from the time at which
 * an audit reaches it, 7 to 12 minutes after it was due. `cursors`: of all shards; `undefined` if no tick has swept a shard. Answers what was
 * found of each topic.
 */
export async function troublesOf(
  ctx: Context,
  topics: readonly string[],
  cursors: readonly (Cursor | undefined)[],
): Promise<(topic: string) => Troubles> {
  const now = ctx.clock();
  const audited = cursors.map((cursor) =>
    cursor && layoutTrouble(cursor) === undefined
      ? storedAuditPosition(cursor.audited)
      : beforeTime(now - NEVER_SWEPT),
  );
  const [recent, noted] = await Promise.all([
    readRecent(ctx, audited, beforeTime(now - LATE_AFTER + 1)),
    readNoted(ctx, topics, audited),
  ]);
  const homes = new Map([...recent.homes, ...noted.homes].map((home) => [home.id, home]));
  const asked = [...homes.values()].filter(({ topic }) => topics.includes(topic));
  const byTopic = await judge(ctx, asked);
  const sampled = recent.isCut ? { sampledSince: Math.min(...audited.map(timeOf)) } : {};
  return (topic) => {
    const { late, retrying } = byTopic.get(topic) ?? NONE;
    const isCut = noted.cut.has(topic);
    return {
      late: { ...late, ...((isCut || recent.isCut) && { atLeast: true }) },
      retrying: { ...retrying, ...(isCut && { atLeast: true }) },
      ...sampled,
    };
  };
}

type Bucket = { readonly pk: string; readonly from: Position };

/**
 * Reads the entries between the place of the audit and `end`, the same share of each bucket: all of them, or as many as a list reads, or until
 * the bodies have about as many bytes as a count reads.
 */
async function readRecent(ctx: Context, audited: readonly Position[], end: Position): Promise<Found> {
  const all = audited.flatMap((from, shard) => bucketsOf(shard, from, end));
  // After an outage, some minutes stand for all.
  const every = Math.ceil(all.length / BUCKETS_A_PAGE);
  const entries: Entry[] = [];
  let unread = all.filter((_, i) => i % every === 0);
  let read = 0;
  let isCut = every > 1;
  while (unread.length > 0 && entries.length < ctx.sizes.listEntries && read < COUNT_BYTES) {
    const share = Math.floor((ctx.sizes.listEntries - entries.length) / unread.length);
    const limit = Math.min(Math.max(share, 1), ctx.sizes.page);
    const pages = await inParallel(unread, WIDTH, ({ pk, from }) =>
      readEntries(ctx, pk, from, end, limit).catch(() => undefined),
    );
    if (pages.includes(undefined)) isCut = true;
    unread = unread.flatMap(({ pk }, i) => {
      const { items = [], more, bytes = 0 } = pages[i] ?? {};
      const last = items.at(-1);
      entries.push(...items);
      read += bytes;
      return more && last ? { pk, from: justAfter(last.sk) } : [];
    });
  }
  const homes = entries.flatMap(({ home }) => (home === undefined || isUnreadable(home) ? [] : home));
  const looked = await readNamed(
    ctx,
    entries.flatMap(({ sk, home }) => (home === undefined ? (jobIdIn(sk) ?? []) : [])),
  );
  return {
    homes: [...homes, ...looked.homes],
    isCut: isCut || unread.length > 0 || looked.isCut,
  };
}

function bucketsOf(shard: number, from: Position, end: Position): Bucket[] {
  const buckets: Bucket[] = [];
  for (let minute = minuteOf(timeOf(from)); beforeTime(minute) < end; minute += BUCKET)
    buckets.push({ pk: bucketOf(minute, shard), from });
  return buckets;
}

/** The jobs of the notes that audits have not passed. `cut`: the topics that have more of them than the bound. */
async function readNoted(
  ctx: Context,
  topics: readonly string[],
  audited: readonly Position[],
): Promise<{ homes: readonly Head[]; cut: ReadonlySet<string> }> {
  const listed = new Set(await listedTopics(ctx, TROUBLED_TOPICS).catch(() => topics));
  const troubled = topics.filter((topic) => listed.has(topic));
  const most = Math.min(TROUBLED_COUNTED, Math.floor(ctx.sizes.listEntries / Math.max(troubled.length, 1)));
  const limit = Math.max(Math.ceil(most / audited.length), 1);
  const partitions = troubled.flatMap((topic) => audited.map((from, shard) => ({ topic, from, shard })));
  const cut = new Set<string>();
  const ids = await inParallel(partitions, WIDTH, async ({ topic, from, shard }) => {
    const page = await ctx.pool.page(troubledIn(topic, shard), from, END, limit).catch(() => undefined);
    const { items, more } = page ?? { items: [], more: true };
    if (more) cut.add(topic);
    return items.flatMap(({ sk }) => idIn(sk) ?? []);
  });
  const { homes, isCut } = await readNamed(ctx, ids.flat());
  return { homes, cut: isCut ? new Set(troubled) : cut };
}

/** Reads jobs until their bodies have about as many bytes as a count reads. */
async function readNamed(ctx: Context, ids: readonly string[]): Promise<Found> {
  const homes: Head[] = [];
  let bytes = 0;
  let isCut = false;
  const jobs = [...new Set(ids)].map((id) => ({ id }));
  for (const part of chunksOf(jobs, ctx.sizes.heads)) {
    if (bytes >= COUNT_BYTES) return { homes, isCut: true };
    for (const [, read] of await readHomesApart(ctx, part)) {
      if (read.is === "unknown") isCut = true;
      if (read.is !== "found") continue;
      bytes += read.value.body.length;
      homes.push(headOf(read.value));
    }
  }
  return { homes, isCut };
}

const NONE: Troubles = { late: { count: 0 }, retrying: { count: 0 } };

async function judge(ctx: Context, homes: readonly Head[]): Promise<Map<string, Troubles>> {
  const waits = await waitsOf(ctx, homes);
  const now = ctx.clock();
  const byTopic = Map.groupBy(homes, ({ topic }) => topic);
  return new Map(
    [...byTopic].map(([topic, jobs]) => {
      const since = jobs.flatMap(({ id }) => {
        const wait = waits.get(id);
        return wait?.is === "late" ? wait.since : [];
      });
      const oldest = since.length === 0 ? {} : { since: Math.min(...since) };
      const retries = jobs.filter((home) => isWaitingForRetry(home, now));
      return [topic, { late: { count: since.length, ...oldest }, retrying: retryingOf(retries) }];
    }),
  );
}

/** A change by a caller sets `attempt` to 0. */
function isWaitingForRetry(home: Head, now: number): boolean {
  return home.state === "scheduled" && home.attempt > 0 && startsAt(home) > now;
}

function retryingOf(homes: readonly Head[]): Troubles["retrying"] {
  const [first] = homes;
  if (first === undefined) return { count: 0 };
  const newest = homes.reduce((one, other) => (failedAt(other) > failedAt(one) ? other : one), first);
  const { lastError: error } = newest;
  return {
    count: homes.length,
    next: Math.min(...homes.map(startsAt)),
    ...(error !== undefined && { error, failedAt: failedAt(newest) }),
  };
}

/** When the job's last run failed, as its log says. */
function failedAt({ log = [], claimedAt = 0 }: Head): number {
  return log.findLast(({ what }) => what === "failed")?.at ?? claimedAt;
}
