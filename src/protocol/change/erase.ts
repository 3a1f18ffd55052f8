import { actorOf } from "../../core/actor.ts";
import { BULK_PART, ERRORS_TOLD } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { type Head, headOf, isFinished } from "../../core/home.ts";
import type { Item, Key } from "../../core/items.ts";
import { homeIn, isUnreadable, type Unreadable, unreadableError } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import { actingFor } from "../policy.ts";
import type { Context } from "../ports.ts";
import { type JobFilter, matchesFilter } from "../read/list.ts";
import type { BulkPart } from "./bulk.ts";
import { cancelMany } from "./cancel.ts";
import { deleteJob } from "./delete-job.ts";
import { refusalOf } from "./refusals.ts";

const WIDTH = 16;

/** Absent fields match every job. */
export type EraseRequest = JobFilter & {
  /** The first characters of the keys. */
  readonly keyPrefix?: string;
  /** Counts the jobs, and erases none. */
  readonly dryRun: boolean;
};

/** `changed`: how many jobs were erased. `next`: where the next part begins; absent: the whole table was read. */
export type ErasePart = Omit<BulkPart, "reached" | "next"> & { next?: Key };

/**
 * Runs one part of an erase: reads the table from `after` on, for about 5 s or until 500 jobs match (at most twice as many), cancels those that wait, and deletes
 * all of them. A job that runs, or that somebody changes meanwhile, is left and counted. A repeat does not count jobs that are gone.
 */
export async function runErase(
  ctx: Context,
  request: EraseRequest,
  after: Key | undefined,
): Promise<ErasePart> {
  const acting = actingFor(ctx, () => actorOf("bulk", ctx.by?.()));
  const until = ctx.clock() + BULK_PART;
  const met: { examined: number; results: readonly Erased[] }[] = [];
  let matched = 0;
  for (let at = after; ; ) {
    const { items, next } = await ctx.pool.scan(at, ctx.sizes.bulkJobs);
    const jobs = items.flatMap(jobIn);
    const meant = jobs.filter((job) => isUnreadable(job) || isMeant(job, request));
    met.push({ examined: jobs.length, results: await erasePage(acting, meant, request) });
    matched += meant.length;
    if (next === undefined) return sumOf(met);
    if (matched >= ctx.sizes.bulkJobs || ctx.clock() >= until) return { ...sumOf(met), next };
    at = next;
  }
}

/** What became of a matching job. `counted`: a dry run would erase it. */
type Erased = { readonly id: string; readonly end: "erased" | "counted" | MinutehandError };

function jobIn(item: Item): (Head | Unreadable)[] {
  const home = homeIn(item);
  if (home === undefined) return [];
  return [isUnreadable(home) ? home : headOf(home)];
}

function isMeant(home: Head, { keyPrefix, ...filter }: EraseRequest): boolean {
  return matchesFilter(home, filter) && (keyPrefix === undefined || home.key?.startsWith(keyPrefix) === true);
}

async function erasePage(
  ctx: Context,
  jobs: readonly (Head | Unreadable)[],
  request: EraseRequest,
): Promise<Erased[]> {
  const now = ctx.clock();
  const refused = jobs.flatMap((job): Erased[] => {
    const end = isUnreadable(job) ? unreadableError(job) : isOver(job) ? undefined : refusalOf(job, now);
    return end ? [{ id: job.id, end }] : [];
  });
  const left = new Set(refused.map(({ id }) => id));
  const erasable = jobs.filter((job): job is Head => !left.has(job.id));
  if (request.dryRun) return [...refused, ...erasable.map(({ id }): Erased => ({ id, end: "counted" }))];
  return [...refused, ...(await eraseAll(ctx, erasable, request))];
}

/** No cancel is needed, or none is possible: the message of an untracked job may be sent already. */
function isOver(home: Head): boolean {
  return isFinished(home) || home.untracked === true;
}

/**
 * Cancels first, so that a job that somebody claims meanwhile is left to its run. Leaves a job that does not match the request any more,
 * because somebody has changed it meanwhile.
 */
async function eraseAll(ctx: Context, homes: readonly Head[], request: EraseRequest): Promise<Erased[]> {
  const waiting = homes.filter((home) => !isOver(home)).map(({ id }) => id);
  const cancelled = await cancelMany(ctx, waiting, (home) => !isMeant(home, request));
  const ended = new Map(waiting.map((id, i) => [id, cancelled[i]]));
  const erased = await inParallel(homes, WIDTH, async (home): Promise<Erased[]> => {
    const over = ended.get(home.id) ?? home;
    if (!(over instanceof MinutehandError) && !isMeant(over, request)) return [];
    const refusal = over instanceof MinutehandError ? over : await deleteJob(ctx, over);
    return [{ id: home.id, end: refusal ?? "erased" }];
  });
  return erased.flat();
}

function sumOf(met: readonly { examined: number; results: readonly Erased[] }[]): ErasePart {
  const results = met.flatMap((page) => page.results);
  const errors = results.flatMap(({ id, end }) => (end instanceof MinutehandError ? { id, error: end } : []));
  const byCode = [...Map.groupBy(errors, ({ error }) => error.code)];
  return {
    examined: met.reduce((sum, page) => sum + page.examined, 0),
    matched: results.length,
    changed: results.filter(({ end }) => end === "erased").length,
    skipped: Object.fromEntries(byCode.map(([code, some]) => [code, some.length])),
    errors: errors.slice(0, ERRORS_TOLD),
  };
}
