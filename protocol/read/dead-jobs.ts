import { DAY, PAGE_BYTES } from "../../core/constants.ts";
import { isOwed } from "../../core/home.ts";
import { type DeadEntry, deadDay, type Head, headOf, idIn, timeOf } from "../../core/items.ts";
import { afterJob, beforeTime, END, justAfter, type Position } from "../../core/position.ts";
import { chunksOf, inParallel } from "../../general/batches.ts";
import type { Context, Page } from "../ports.ts";
import { readableHomes } from "../store/read-job.ts";
import { isMeant, type JobFilter, type JobPage } from "./list.ts";

/** `bytes`: how much was read of it, its body included. */
export type DeadJob = { home: Head; entry: DeadEntry; bytes: number };
/** `home`: absent where TTL has taken it before its entry, or nobody can read it. */
type Met = Omit<DeadJob, "home"> & { home: Head | undefined };

const STRETCH = 16;

/**
 * A topic's dead jobs, oldest first, from `cursor` on. An entry counts only while its home says the
 * same death: redriven jobs and deaths recorded twice are passed over. So are jobs whose `deadRetention` is over: TTL deletes days late.
 */
export async function* deadJobs(ctx: Context, topic: string, cursor?: Position): AsyncGenerator<DeadJob> {
  const now = ctx.clock();
  for await (const job of jobsOfEntries(ctx, topic, cursor)) if (isStillDead(job, now)) yield job;
}

/** The same, and the jobs of entries that stayed, whatever became of those. */
async function* jobsOfEntries(ctx: Context, topic: string, cursor?: Position): AsyncGenerator<Met> {
  const now = ctx.clock();
  // Whoever died before is over, and TTL may be days late with very many of them. Its seconds are rounded up.
  const oldest = beforeTime(now - ctx.policy.deadRetention * 1000 - 1000);
  const from = cursor !== undefined && cursor > oldest ? cursor : oldest;
  const start = timeOf(from);
  const days: number[] = [];
  for (let day = start - (start % DAY); day <= now; day += DAY) days.push(day);
  const read = (day: number, from: Position): Promise<Page> =>
    ctx.pool.page(deadDay(topic, day), from, END, ctx.sizes.deadPage);
  for (const stretch of chunksOf(days, STRETCH)) {
    // Most days have none: a first look at several at once.
    const heads = await inParallel(stretch, STRETCH, (day) => read(day, from));
    for (const [i, day] of stretch.entries()) {
      for (let page = heads[i]; page; ) {
        yield* readJobs(ctx, topic, page.items as DeadEntry[]);
        const last = page.items.at(-1)?.sk;
        page = page.more && last !== undefined ? await read(day, justAfter(last)) : undefined;
      }
    }
  }
}

/**
 * A page of those that a filter means, who died before a position. It may be short, or empty with a cursor. `gone`: whose
 * redrive has not come to its end, so that they may not have been sent.
 */
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
    // Entries that say nothing any more cost as much to read.
    const isFull =
      (dead && homes.length === request.limit) || entries === ctx.sizes.listEntries || bytes >= PAGE_BYTES;
    if (position !== undefined && isFull) {
      return { homes, gone, examined, cursor: position };
    }
    if (!dead) {
      // A redrive removes the entry last.
      if (home && isOwed(home, entry.revision) && isMeant(home, request)) gone.push(home);
    } else {
      if (isMeant(dead, request)) homes.push(dead);
      examined += 1;
    }
    entries += 1;
    bytes += size;
    position = afterJob(entry.sk);
  }
  return { homes, gone, examined };
}

function isStillDead(job: Met, now: number): job is DeadJob {
  const { home, entry } = job;
  if (!home) return false;
  const { state, finishedAt, expiresAt = Number.POSITIVE_INFINITY } = home;
  return state === "dead" && finishedAt === timeOf(entry.sk) && expiresAt * 1000 > now;
}

async function* readJobs(ctx: Context, topic: string, entries: DeadEntry[]): AsyncGenerator<Met> {
  const named = entries.filter(({ sk }) => idIn(sk) !== undefined);
  const homes = await readableHomes(
    ctx,
    named.flatMap(({ sk }) => idIn(sk) ?? []),
    "listing dead jobs",
  );
  // Whoever goes through all dead jobs keeps none of their bodies.
  const read = homes.map((home) => home && { home: headOf(home), bytes: JSON.stringify(home).length });
  for (const [i, entry] of named.entries()) {
    const { home, bytes = 0 } = read[i] ?? {};
    yield { home: home?.topic === topic ? home : undefined, entry, bytes };
  }
}
