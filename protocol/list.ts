import { inParallel } from "../core/batches.ts";
import { BUCKET, DAY } from "../core/constants.ts";
import { stateAt } from "../core/home.ts";
import { bucketOf, type Home, isHome, type Look, minuteOf, sortable, timeOf } from "../core/items.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { shardCount } from "./shards.ts";

export type ListRequest = {
  topic?: string;
  /** ms since the epoch, `from ≤ dueAt < to`. */
  from: number;
  to: number;
  state?: string;
  limit: number;
  /** Where the page before ended. */
  cursor?: string;
};

export type JobPage = { homes: Home[]; cursor?: string };

export const LONGEST_SPAN = 31 * DAY;
const BUCKETS_A_PAGE = 1000;
const PAGE_BYTES = 4 * 1024 * 1024;
const ENTRIES_A_READ = 500;
const WIDTH = 32;

/**
 * A page of jobs in due order. At most 1,000 buckets are read for it, so that it may be short, or empty with
 * a cursor. A position is a sort key, or sorts between two.
 */
export async function listJobs(ctx: Context, request: ListRequest): Promise<JobPage> {
  const shards = await shardCount(ctx);
  const end = sortable(request.to);
  let position = request.cursor ?? sortable(request.from);
  const homes: Home[] = [];
  let bytes = 0;
  for (let read = 0; position < end; read += shards) {
    if (read > 0 && read + shards > BUCKETS_A_PAGE) return { homes, cursor: position };
    const minute = minuteOf(timeOf(position));
    const found = await dueIn(ctx, shards, minute, position, end);
    for (const home of found.homes) {
      const now = ctx.clock();
      if (request.topic !== undefined && home.topic !== request.topic) continue;
      if (request.state !== undefined && stateAt(home, now) !== request.state) continue;
      // Answers carry no bodies, but Lambda's are at most 6 MB.
      bytes += JSON.stringify({ ...home, body: "" }).length;
      if (homes.length === request.limit || (homes.length > 0 && bytes > PAGE_BYTES)) {
        return { homes, cursor: afterJob(place(homes.at(-1) ?? home)) };
      }
      homes.push(home);
    }
    position = found.complete ? sortable(minute + BUCKET) : found.until;
  }
  return { homes };
}

function place(home: Home): string {
  return `${sortable(home.dueAt)}#${home.id}`;
}

/** The position after everything filed for a job at one time: its home and its look are one. */
function afterJob(sk: string): string {
  return `${sk.replace("#look", "")}#~`;
}

/**
 * The jobs due in one minute after `position`, in due order. A shard may hold more than one read: then what
 * is complete for all shards ends at `until`.
 */
async function dueIn(
  ctx: Context,
  shards: number,
  minute: number,
  position: string,
  end: string,
): Promise<{ homes: Home[]; complete: boolean; until: string }> {
  const pages = await inParallel(
    Array.from({ length: shards }, (_, shard) => shard),
    WIDTH,
    (shard) => ctx.pool.page(bucketOf(minute, shard), position, end, ENTRIES_A_READ),
  );
  const cut = pages.flatMap(({ items, more }) => (more ? (items.at(-1)?.sk ?? []) : []));
  // Up to the first place where some shard's read stopped, every shard has been read.
  const until = cut.map(afterJob).sort()[0];
  const items = pages.flatMap((page) => page.items as (Home | Look)[]);
  const seen = until === undefined ? items : items.filter((item) => item.sk <= until);
  const homes = await homesDueAt(ctx, seen);
  return { homes, complete: until === undefined, until: until ?? "" };
}

/** The jobs whose due time is the time of their entry: a home that has moved, or a look left behind, is none. */
export async function homesDueAt(ctx: Context, items: readonly (Home | Look)[]): Promise<Home[]> {
  const looks = items.filter((item) => !isHome(item));
  const looked = await readHomes(
    ctx,
    looks.map((look) => look.id),
  );
  const due = new Map<string, Home>();
  for (const item of items) if (isHome(item) && item.dueAt === timeOf(item.sk)) due.set(item.id, item);
  for (const [i, look] of looks.entries()) {
    const home = looked[i];
    if (home && home.dueAt === timeOf(look.sk)) due.set(home.id, home);
  }
  return [...due.values()].sort((a, b) => (place(a) < place(b) ? -1 : 1));
}
