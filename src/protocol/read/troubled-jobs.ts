import {
  BUCKET,
  BUCKETS_A_PAGE,
  COUNT_BYTES,
  COUNT_PART,
  LATE_AFTER,
  TROUBLED_COUNTED,
} from "../../core/constants.ts";
import { type Head, headOf, startsAt } from "../../core/home.ts";
import { bucketOf, idIn, minuteOf, type Trouble, timeOf, troubledIn } from "../../core/item-keys.ts";
import type { Cursor } from "../../core/items.ts";
import {
  beforeTime,
  END,
  earlierOf,
  justAfter,
  type Position,
  storedAuditPosition,
} from "../../core/position.ts";
import { isUnreadable, jobIdIn, layoutTrouble } from "../../core/readable.ts";
import { chunksOf, inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { listedTopics } from "../store/listed-topics.ts";
import { readHomesApart } from "../store/read-job.ts";
import { readEntries } from "./due-jobs.ts";
import { isWaitingForRetry, waitsOf } from "./waits.ts";

/** The late jobs of a topic, and those that wait for a retry, as of one moment. Times are ms since the epoch. */
export type Troubles = {
  /** `atLeast`: the read ended at a bound, or a partition could not be read, so there may be more. `since`: of the oldest that was found. */
  late: { count: number; atLeast?: true; since?: number };
  /** `next`: when the first retry starts. `error`: of the attempt that failed last, at `failedAt`. */
  retrying: { count: number; atLeast?: true; next?: number; error?: string; failedAt?: number };
  /** Of the jobs of all topics that were due since then, only a part was looked at: there were too many, or a minute could not be read. */
  sampledSince?: number;
};

const WIDTH = 32;
/** How far back the jobs of a shard without a cursor are looked at: no tick has run since the queue was deployed. ms. */
const NEVER_SWEPT = 60 * BUCKET;

/**
 * Looks at the jobs that may be late or wait for a retry, with bounded reads: entries of the minutes that audits have not reached, and the notes
 * that audits and failed runs have left for each topic. So a late job is found although many jobs of other topics are held, from the time at
 * which an audit reaches it, 7 to 12 minutes after it was due. `cursors`: of all shards; `undefined` if no tick has swept a shard. Answers what
 * was found of each topic.
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
  // A retry that is due is either late, and an entry or an audit finds it, or it needs nobody.
  const notDue = audited.map(() => beforeTime(now + 1));
  const [recent, late, retrying] = await Promise.all([
    readRecent(ctx, audited, beforeTime(now - LATE_AFTER + 1)),
    listNoted(ctx, "late", topics, audited),
    listNoted(ctx, "retrying", topics, notDue),
  ]);
  const known = recent.homes.filter(({ topic }) => topics.includes(topic));
  const { found, cut } = await lookAtNoted(ctx, known, [...late, ...retrying], now + COUNT_PART);
  const byTopic = Map.groupBy(found, ({ home }) => home.topic);
  const sampled = recent.isCut ? { sampledSince: Math.min(...audited.map(timeOf)) } : {};
  return (topic) => {
    const those = byTopic.get(topic) ?? [];
    const isCut = (trouble: Trouble): boolean =>
      cut.some((noted) => noted.topic === topic && noted.trouble === trouble);
    return {
      late: { ...lateAmong(those), ...((isCut("late") || recent.isCut) && { atLeast: true }) },
      retrying: { ...retryingAmong(those), ...(isCut("retrying") && { atLeast: true }) },
      ...sampled,
    };
  };
}

type Part = { readonly pk: string; readonly from: Position };
type Piece<T> = { readonly items: readonly T[]; readonly more: boolean; readonly bytes?: number };

/**
 * Reads partitions, the same share of each: all their items, or about `most`, or until the bodies have about as many bytes as a count reads, or
 * for as long.
 * `cut`: the partitions that have more, or that cannot be read.
 */
async function readShares<P extends Part, T extends { readonly sk: string }>(
  ctx: Context,
  parts: readonly P[],
  most: number,
  read: (part: P, limit: number) => Promise<Piece<T>>,
): Promise<{ items: [P, T][]; cut: P[] }> {
  const items: [P, T][] = [];
  const failed: P[] = [];
  let unread = parts;
  let bytes = 0;
  const until = ctx.clock() + COUNT_PART;
  while (unread.length > 0 && items.length < most && bytes < COUNT_BYTES && ctx.clock() < until) {
    const share = Math.floor((most - items.length) / unread.length);
    const limit = Math.min(Math.max(share, 1), ctx.sizes.page);
    const pieces = await inParallel(unread, WIDTH, (part) => read(part, limit).catch(() => undefined));
    failed.push(...unread.filter((_, i) => pieces[i] === undefined));
    for (const piece of pieces) bytes += piece?.bytes ?? 0;
    for (const [i, part] of unread.entries())
      for (const item of pieces[i]?.items ?? []) items.push([part, item]);
    unread = unread.flatMap((part, i) => {
      const last = pieces[i]?.items.at(-1);
      return pieces[i]?.more && last ? { ...part, from: justAfter(last.sk) } : [];
    });
  }
  return { items, cut: [...failed, ...unread] };
}

type Found = { readonly homes: readonly Head[]; readonly isCut: boolean };

/** Reads the entries between the place of the audit and `end`, as many as a list reads. */
async function readRecent(ctx: Context, audited: readonly Position[], end: Position): Promise<Found> {
  const buckets = audited.flatMap((from, shard) => bucketsOf(shard, from, end));
  // After an outage, some minutes stand for all.
  const every = Math.ceil(buckets.length / BUCKETS_A_PAGE);
  const { items, cut } = await readShares(
    ctx,
    buckets.filter((_, i) => i % every === 0),
    ctx.sizes.listEntries,
    ({ pk, from }, limit) => readEntries(ctx, pk, from, end, limit),
  );
  const homes = items.flatMap(([, { home }]) => (home === undefined || isUnreadable(home) ? [] : home));
  const read = new Set(homes.map(({ id }) => id));
  const named = items.flatMap(([, { sk, home }]) => (home === undefined ? (jobIdIn(sk) ?? []) : []));
  const looked = await readNamed(
    ctx,
    named.filter((id) => !read.has(id)),
    COUNT_BYTES,
  );
  return { homes: [...homes, ...looked.homes], isCut: every > 1 || cut.length > 0 || looked.isCut };
}

function bucketsOf(shard: number, from: Position, end: Position): Part[] {
  const buckets: Part[] = [];
  for (let minute = minuteOf(timeOf(from)); beforeTime(minute) < end; minute += BUCKET)
    buckets.push({ pk: bucketOf(minute, shard), from });
  return buckets;
}

/** The jobs of a topic that notes name, in the order in which they are looked at. `isCut`: there are more notes, or some cannot be read. */
type Noted = {
  readonly topic: string;
  readonly trouble: Trouble;
  readonly ids: readonly string[];
  readonly isCut: boolean;
};

/** Lists the jobs of the notes after `from`, the positions of the shards: the oldest late job and the newest failure first. */
async function listNoted(
  ctx: Context,
  trouble: Trouble,
  topics: readonly string[],
  from: readonly Position[],
): Promise<Noted[]> {
  const listed = new Set(await listedTopics(ctx, trouble).catch(() => topics));
  const troubled = topics.filter((topic) => listed.has(topic));
  const parts = troubled.flatMap((topic) => {
    const places = Map.groupBy(from.entries(), ([shard]) => troubledIn(trouble, topic, shard));
    return [...places].map(([pk, those]) => ({
      topic,
      pk,
      from: those.map(([, place]) => place).reduce(earlierOf),
    }));
  });
  const { items, cut } = await readShares(ctx, parts, ctx.sizes.countEntries, ({ pk, from }, limit) =>
    ctx.pool.page(pk, from, END, limit),
  );
  const byTopic = Map.groupBy(items, ([{ topic }]) => topic);
  const sign = trouble === "late" ? 1 : -1;
  return troubled.map((topic) => {
    const notes = (byTopic.get(topic) ?? []).map(([, note]) => ({
      ids: idIn(note.sk) ?? [],
      since: "since" in note ? note.since : 0,
    }));
    const ids = new Set(notes.sort((a, b) => sign * (a.since - b.since)).flatMap((note) => note.ids));
    return { topic, trouble, ids: [...ids], isCut: cut.some((part) => part.topic === topic) };
  });
}

/** A job that is late, since when, or that waits for a retry, and when its last run failed: ms since the epoch. */
type Troubled = { readonly trouble: Trouble; readonly home: Head; readonly since: number };

/**
 * Adds to the jobs that are in trouble among `known` those among the noted ones. Looks at them until enough are found of each topic, but about as
 * many as a count reads, and for as long (`until`), but at the first ones in any case. `cut`: of these there may be more.
 */
async function lookAtNoted(
  ctx: Context,
  known: readonly Head[],
  noted: readonly Noted[],
  until: number,
): Promise<{ found: Troubled[]; cut: Noted[] }> {
  const most = Math.min(TROUBLED_COUNTED, ctx.sizes.listEntries);
  const seen = new Map(known.map((home) => [home.id, home]));
  const found = await troubledAmong(ctx, [...seen.values()]);
  const cut = noted.filter(({ isCut }) => isCut);
  let open = noted;
  let bytes = 0;
  let read = 0;
  while (open.length > 0) {
    const share = Math.max(Math.floor(most / open.length), 1);
    const ids = open.flatMap((one) => one.ids.slice(0, share)).filter((id) => !seen.has(id));
    const part = await readNamed(ctx, ids, COUNT_BYTES - bytes);
    if (part.isCut) cut.push(...open);
    read += ids.length;
    bytes += part.bytes;
    for (const home of part.homes) seen.set(home.id, home);
    found.push(...(await troubledAmong(ctx, part.homes)));
    const rest = open.map((one) => ({ ...one, ids: one.ids.slice(share) }));
    const left = rest.filter(({ ids }) => ids.length > 0);
    const isEnough = ({ topic, trouble }: Noted): boolean =>
      found.filter((one) => one.trouble === trouble && one.home.topic === topic).length >= most;
    cut.push(...left.filter(isEnough));
    open = left.filter((one) => !isEnough(one));
    if (read >= ctx.sizes.countEntries || bytes >= COUNT_BYTES || ctx.clock() >= until) {
      cut.push(...open);
      break;
    }
  }
  return { found, cut };
}

/** Reads jobs until their bodies have about `most` bytes. */
async function readNamed(
  ctx: Context,
  ids: readonly string[],
  most: number,
): Promise<Found & { bytes: number }> {
  const homes: Head[] = [];
  let bytes = 0;
  let isCut = false;
  const jobs = [...new Set(ids)].map((id) => ({ id }));
  for (const part of chunksOf(jobs, ctx.sizes.heads)) {
    if (bytes >= most) return { homes, isCut: true, bytes };
    for (const [, read] of await readHomesApart(ctx, part)) {
      if (read.is === "unknown") isCut = true;
      if (read.is !== "found") continue;
      bytes += read.value.body.length;
      homes.push(headOf(read.value));
    }
  }
  return { homes, isCut, bytes };
}

async function troubledAmong(ctx: Context, homes: readonly Head[]): Promise<Troubled[]> {
  const waits = await waitsOf(ctx, homes);
  const now = ctx.clock();
  return homes.flatMap((home): Troubled | never[] => {
    const wait = waits.get(home.id);
    if (wait?.is === "late") return { trouble: "late", home, since: wait.since };
    return isWaitingForRetry(home, now) ? { trouble: "retrying", home, since: failedAt(home) } : [];
  });
}

function lateAmong(jobs: readonly Troubled[]): Troubles["late"] {
  const late = jobs.flatMap(({ trouble, since }) => (trouble === "late" ? since : []));
  return { count: late.length, ...(late.length > 0 && { since: Math.min(...late) }) };
}

function retryingAmong(jobs: readonly Troubled[]): Troubles["retrying"] {
  const retries = jobs.filter(({ trouble }) => trouble === "retrying");
  const [newest] = retries.toSorted((one, other) => other.since - one.since);
  if (newest === undefined) return { count: 0 };
  const { lastError: error } = newest.home;
  return {
    count: retries.length,
    next: Math.min(...retries.map(({ home }) => startsAt(home))),
    ...(error !== undefined && { error, failedAt: newest.since }),
  };
}

/** When the job's last run failed, as its log says. */
function failedAt({ log = [], claimedAt = 0 }: Head): number {
  return log.findLast(({ what }) => what === "failed")?.at ?? claimedAt;
}
