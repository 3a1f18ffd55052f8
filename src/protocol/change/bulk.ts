import { actorOf } from "../../core/actor.ts";
import { BULK_PART, ERRORS_TOLD, LONGEST_DELAY, PAGE_JOBS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { type Head, isFinished, startsAt } from "../../core/home.ts";
import { timeOf } from "../../core/item-keys.ts";
import { beforeTime } from "../../core/position.ts";
import { topicNow } from "../gate/known-pauses.ts";
import { actingFor } from "../policy.ts";
import type { Context } from "../ports.ts";
import { deadPage } from "../read/dead-jobs.ts";
import { type JobPage, listJobs } from "../read/list.ts";
import { type Bulk, type BulkAction, type BulkRequest, isForDead } from "./begin-bulk.ts";
import { changeAll, type Result, refusal } from "./bulk-changes.ts";
import { changedBefore, isFromBefore } from "./bulk-marks.ts";
import { startsAtRate } from "./starts-at-rate.ts";

export type BulkPart = {
  /** How many jobs were compared with the request. */
  examined: number;
  matched: number;
  /** How many jobs this call, or an earlier call of the same part, has changed. */
  changed: number;
  /** How many refusals, by the code of the error. */
  skipped: Record<string, number>;
  /** The first ten refusals. */
  errors: { id: string; error: MinutehandError }[];
  /** The bulk has gone through all jobs before this time, in ms since the epoch. */
  reached: number;
  /** Where the next part begins. Absent: the bulk is over. */
  next?: Bulk;
};

/**
 * Runs one part of a bulk, which `beginBulk` or the part before has answered: changes at most 500 jobs, for about 5 s, each by a user's call.
 * A repeat changes the jobs that are left: docs/internals/decisions/bulk.md. It does not count jobs that an earlier call has redriven or dismissed.
 */
export async function runBulk(ctx: Context, request: BulkRequest, first: Bulk): Promise<BulkPart> {
  const acting = actingFor(ctx, () => actorOf("bulk", ctx.by?.()));
  const done: ChangedPage[] = [];
  let matched = 0;
  const until = ctx.clock() + BULK_PART;
  for (let at = await startAfterResume(ctx, request, first); ; ) {
    const page = await pageOf(ctx, request, at, Math.min(ctx.sizes.bulkJobs - matched, PAGE_JOBS));
    const changed = await changePage(acting, request, at, page);
    done.push(changed);
    matched += changed.matched;
    if (page.cursor === undefined) return { ...sumOf(done), reached: first.to };
    at = { ...at, position: page.cursor, nextAt: changed.nextAt };
    if (matched >= ctx.sizes.bulkJobs || ctx.clock() >= until)
      return { ...sumOf(done), reached: timeOf(at.position), next: at };
  }
}

/** What a bulk has done with a page. `nextAt`: the first start for later pages, ms since the epoch. */
type ChangedPage = Pick<BulkPart, "examined" | "matched" | "changed"> & {
  readonly refused: BulkPart["errors"];
  readonly nextAt: number;
};

function sumOf(pages: readonly ChangedPage[]): Omit<BulkPart, "reached" | "next"> {
  const sum = (of: (page: ChangedPage) => number): number => pages.reduce((all, page) => all + of(page), 0);
  const refused = pages.flatMap((page) => page.refused);
  const byCode = [...Map.groupBy(refused, ({ error }) => error.code)];
  return {
    examined: sum(({ examined }) => examined),
    matched: sum(({ matched }) => matched),
    changed: sum(({ changed }) => changed),
    skipped: Object.fromEntries(byCode.map(([code, some]) => [code, some.length])),
    errors: refused.slice(0, ERRORS_TOLD),
  };
}

/** Lets the starts of a rate begin when consumers have followed a resume. Jobs with earlier starts would all run at once. */
async function startAfterResume(
  ctx: Context,
  { topic, ratePerSecond }: BulkRequest,
  bulk: Bulk,
): Promise<Bulk> {
  if (ratePerSecond === undefined) return bulk;
  return { ...bulk, nextAt: Math.max(bulk.nextAt, (await topicNow(ctx, topic)).followedAt) };
}

async function changePage(ctx: Context, request: BulkRequest, at: Bulk, page: JobPage): Promise<ChangedPage> {
  const { topic, ratePerSecond, dryRun } = request;
  const before = changedBefore(page, request, at);
  const earlier = before.size;
  // A page may have a job twice, as it was before and after a call of this part that runs at the same time.
  const matched = matchedOf(page, request, at).filter(({ id }) => !before.has(id));
  const now = ctx.clock();
  const refused = matched.map((home) => refusal(request, home, now));
  const changeable = matched.filter((_, i) => refused[i] === undefined);
  const { starts, next } = startsAtRate(ctx, topic, ratePerSecond, {
    first: ratePerSecond === undefined ? at.nextAt : Math.max(at.nextAt, now),
    // The earlier call has given the first starts to the jobs that it has changed.
    count: earlier + changeable.length,
    latest: at.startedAt + LONGEST_DELAY,
  });
  const results = dryRun ? [] : await changeAll(ctx, request, at, changeable, starts.slice(earlier));
  return {
    examined: page.examined,
    matched: earlier + matched.length - results.filter((result) => result === "left").length,
    changed: earlier + results.filter((result) => result === "changed").length,
    refused: [...errorsOf(matched, refused), ...errorsOf(changeable, results)],
    nextAt: Math.ceil(next),
  };
}

function pageOf(ctx: Context, request: BulkRequest, at: Bulk, limit: number): Promise<JobPage> {
  const { action, topic, tag, group } = request;
  const filter = { topic, ...(tag === undefined ? {} : { tag }), ...(group === undefined ? {} : { group }) };
  const { from, to, position: cursor } = at;
  if (isForDead(action)) return deadPage(ctx, { ...filter, limit, cursor, before: beforeTime(to) });
  return listJobs(ctx, { ...filter, limit, from, to, cursor });
}

/** The jobs of a page that the bulk tries to change. */
function matchedOf({ homes }: JobPage, { action }: BulkRequest, at: Bulk): Head[] {
  return homes.filter((home) => isFor(action, home, at.startedAt) && isFromBefore(home, at));
}

/** `run` skips jobs that may start already. */
function isFor(action: BulkAction, home: Head, now: number): boolean {
  if (action === "run" && home.state === "scheduled" && startsAt(home) <= now) return false;
  return isFinished(home) === isForDead(action);
}

function errorsOf(homes: readonly Head[], results: readonly (Result | undefined)[]): BulkPart["errors"] {
  return homes.flatMap(({ id }, i) => {
    const error = results[i];
    return error instanceof MinutehandError ? { id, error } : [];
  });
}
