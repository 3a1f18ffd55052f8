import { DAY, PAGE_BYTES } from "../../core/constants.ts";
import { type Head, headOf, isNextRevision } from "../../core/home.ts";
import { deadDay, idIn, timeOf } from "../../core/item-keys.ts";
import type { DeadEntry } from "../../core/items.ts";
import { afterJob, beforeTime, END, justAfter, type Position } from "../../core/position.ts";
import { chunksOf, inParallel } from "../../general/batches.ts";
import { answerBytes } from "../../general/text.ts";
import type { Context, Page } from "../ports.ts";
import { readReadableHomes } from "../store/read-job.ts";
import { type JobFilter, type JobPage, matchesFilter } from "./list.ts";

type EntryJob = {
  /** `undefined`: TTL has deleted the home before its entry, or it is unreadable. */
  home: Head | undefined;
  entry: DeadEntry;
  /** The size of the home that was read, its body included. */
  bytes: number;
};
type DeadJob = EntryJob & { home: Head };

const DAYS_AT_ONCE = 16;
const COUNT_TO = 1000;

/** Yields dead jobs from `cursor` on, oldest first. An entry counts only if its home tells of the same death, and within `deadRetention`. */
export async function* deadJobs(ctx: Context, topic: string, cursor?: Position): AsyncGenerator<DeadJob> {
  const now = ctx.clock();
  for await (const job of jobsOfEntries(ctx, topic, cursor)) if (isStillDead(job, now)) yield job;
}

/** Counts dead jobs, up to 1,000. */
export async function countDead(ctx: Context, topic: string): Promise<number> {
  let count = 0;
  for await (const _ of deadJobs(ctx, topic)) if (++count === COUNT_TO) break;
  return count;
}

/** Answers a page of dead jobs that died before `before`. `gone`: jobs of redrives that may have died before they sent the jobs. */
export async function deadPage(
  ctx: Context,
  request: JobFilter & { topic: string; limit: number; cursor?: Position; before?: Position },
): Promise<JobPage> {
  const now = ctx.clock();
  const homes: Head[] = [];
  const gone: Head[] = [];
  let examined = 0;
  let entries = 0;
  let bytes = 0;
  let position = request.cursor;
  for await (const job of jobsOfEntries(ctx, request.topic, request.cursor)) {
    const { home, entry, bytes: size } = job;
    if (request.before !== undefined && entry.sk >= request.before) break;
    const dead = isStillDead(job, now) ? job.home : undefined;
    // Entries of jobs that are not dead any more cost as much to read.
    const isFull =
      (dead && homes.length === request.limit) || entries === ctx.sizes.listEntries || bytes >= PAGE_BYTES;
    if (position !== undefined && isFull) {
      return { homes, gone, examined, cursor: position };
    }
    if (!dead) {
      // A redrive removes the entry last.
      if (home && isNextRevision(home, entry.revision) && matchesFilter(home, request)) gone.push(home);
    } else {
      if (matchesFilter(dead, request)) homes.push(dead);
      examined += 1;
    }
    entries += 1;
    bytes += size;
    position = afterJob(entry.sk);
  }
  return { homes, gone, examined };
}

/** Yields also entries whose jobs are no longer dead. */
async function* jobsOfEntries(ctx: Context, topic: string, cursor?: Position): AsyncGenerator<EntryJob> {
  const now = ctx.clock();
  // TTL deletes days late, so there may be very many older ones. `ttl` rounds up to whole seconds.
  const oldest = beforeTime(now - ctx.policy.deadRetention * 1000 - 1000);
  const from = cursor !== undefined && cursor > oldest ? cursor : oldest;
  const start = timeOf(from);
  const days: number[] = [];
  for (let day = start - (start % DAY); day <= now; day += DAY) days.push(day);
  const read = (day: number, from: Position): Promise<Page> =>
    ctx.pool.page(deadDay(topic, day), from, END, ctx.sizes.deadPage);
  for (const stretch of chunksOf(days, DAYS_AT_ONCE)) {
    // Most days have no dead jobs.
    const firstPages = await inParallel(stretch, DAYS_AT_ONCE, (day) => read(day, from));
    for (const [i, day] of stretch.entries()) {
      for (let page = firstPages[i]; page; ) {
        yield* readJobs(ctx, topic, page.items as DeadEntry[]);
        const last = page.items.at(-1)?.sk;
        page = page.more && last !== undefined ? await read(day, justAfter(last)) : undefined;
      }
    }
  }
}

async function* readJobs(ctx: Context, topic: string, entries: DeadEntry[]): AsyncGenerator<EntryJob> {
  const named = entries.filter(({ sk }) => idIn(sk) !== undefined);
  const ids = named.flatMap(({ sk }) => idIn(sk) ?? []);
  const homes = await readReadableHomes(ctx, ids, "listing dead jobs");
  // Bodies are not kept: there may be very many dead jobs.
  const read = homes.map((home) => home && { home: headOf(home), bytes: answerBytes(home) });
  for (const [i, entry] of named.entries()) {
    const { home, bytes = 0 } = read[i] ?? {};
    yield { home: home?.topic === topic ? home : undefined, entry, bytes };
  }
}

function isStillDead(job: EntryJob, now: number): job is DeadJob {
  const { home, entry } = job;
  if (!home) return false;
  return home.state === "dead" && home.finishedAt === timeOf(entry.sk) && home.expiresAt * 1000 > now;
}
