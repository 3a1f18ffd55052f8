import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { minuteOf } from "../../core/item-keys.ts";
import type { Range } from "../../core/ranges.ts";
import type { TickPart } from "../../core/tick-part.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context, Sweepers } from "../ports.ts";
import { removeDeadLetters } from "../run/remove-dead-letters.ts";
import { circuitBreaker } from "../send/circuit-breaker.ts";
import { shardsToSweep } from "../store/shards.ts";
import { auditShard } from "./audit.ts";
import { type Backlogs, backlogsOf } from "./backlog.ts";
import { carryOutPauses } from "./carry-out-pauses.ts";
import { type Given, giveAway, SWEEPS_FOR, shardsWithoutProgress, TAKEN_BACK_AFTER } from "./division.ts";
import { type Swept, sweepRest, sweepShard } from "./sweep.ts";

/**
 * Does the work of one minute: sweeps each shard and then audits it, and beside that releases parked jobs. At the end, deletes from the DLQs the
 * letters of jobs that are no longer dead. What one tick cannot do in time goes to further invocations: docs/internals/decisions/sweepers.md.
 * @param until ms on the context's clock after which nothing new is begun
 * @throws AggregateError at the end, with the errors of the shards. The failure of one topic or of one DLQ is only reported
 */
export async function tick(outer: Context, until: number): Promise<void> {
  const work = workOf(outer);
  const { ctx } = work;
  const startedAt = ctx.clock();
  const shards = await shardsToSweep(ctx);
  const all = Array.from({ length: shards }, (_, shard) => shard);
  await Promise.all([
    work.guarded(carryOutPauses(ctx, until), "carrying out pauses"),
    workThrough(work, all, { startedAt, until, sweepers: ctx.sweepers }),
  ]);
  await removeDeadLetters(ctx, until);
  work.throwFailures();
}

/** Sweeps and audits some shards for a tick with a backlog, if its time is not over. Throws as `tick`. */
export async function sweepPart(outer: Context, part: TickPart, until: number): Promise<void> {
  const work = workOf(outer, part.hung);
  if (work.ctx.clock() >= until) return;
  await workThrough(work, part.shards, { startedAt: work.ctx.clock(), until });
  work.throwFailures();
}

/** What the parts of one invocation share. */
type Work = {
  readonly ctx: Context;
  readonly backlogs: Backlogs;
  readonly hung: () => readonly string[];
  /** Reports a failure, and answers `undefined`. */
  readonly guarded: <Answer>(part: Promise<Answer>, what: string) => Promise<Answer | undefined>;
  readonly throwFailures: () => void;
};

function workOf(outer: Context, hung: readonly string[] = []): Work {
  const queues = circuitBreaker(outer.queues, outer.clock, hung);
  const ctx: Context = { ...outer, queues };
  const failures: unknown[] = [];
  return {
    ctx,
    backlogs: backlogsOf(ctx),
    hung: queues.hung,
    async guarded(part, what) {
      try {
        return await part;
      } catch (error) {
        failures.push(error);
        ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
        return undefined;
      }
    },
    throwFailures() {
      if (failures.length > 0) throw new AggregateError(failures, messageOf(failures[0]));
    },
  };
}

/** What is left to do. Lanes take it from here, and put back what they had no time for. */
type Left = {
  /** Shards whose new jobs are not handed over yet. */
  readonly unswept: number[];
  /** Shards of which only overdue jobs are left, in these ranges. */
  readonly overdue: { readonly shard: number; readonly ranges: readonly Range[] }[];
  /** Shards that are swept and not audited yet. */
  readonly audits: number[];
  /** Its overdue jobs need not wait for the new jobs of the other shards. */
  readonly first: number | undefined;
};

/** All sweeps end before the next tick begins. */
async function workThrough(
  work: Work,
  shards: readonly number[],
  { startedAt, until, sweepers }: { startedAt: number; until: number; sweepers?: Sweepers | undefined },
): Promise<void> {
  const end = Math.min(until, startedAt + SWEEPS_FOR);
  const left = leftOf(work.ctx, shards);
  if (sweepers && sweepers.most > 0) await sweepWithOthers(work, sweepers, left, end);
  await sweepLeft(work, left, end);
  await reportLags(work, left.unswept);
  left.audits.push(...left.unswept, ...left.overdue.map(({ shard }) => shard));
  await auditLeft(work, left, until);
}

/** Sweeps alone for some seconds. Gives most of what is left to further invocations, and takes back what nobody has begun. */
async function sweepWithOthers(work: Work, sweepers: Sweepers, left: Left, end: number): Promise<void> {
  const { ctx } = work;
  const hasWorked = await sweepLeft(work, left, Math.min(end, ctx.clock() + ctx.sizes.alone));
  // If no sweep has succeeded, those of further invocations would probably fail too.
  const given = hasWorked ? await giveLeft(work, sweepers, left, end) : [];
  if (given.length === 0) return;
  const takenBackAt = Math.min(end, ctx.clock() + TAKEN_BACK_AFTER);
  await sweepLeft(work, left, takenBackAt);
  await auditLeft(work, left, takenBackAt);
  await sweepers.wait(Math.max(takenBackAt - ctx.clock(), 0));
  const back = await work.guarded(shardsWithoutProgress(ctx, given), "reading what was given away");
  left.unswept.unshift(...(back ?? []));
}

/** Each tick begins with another shard: it may have time for a few only. */
function leftOf(ctx: Context, shards: readonly number[]): Left {
  const count = Math.max(shards.length, 1);
  const atOnce = Math.min(ctx.sizes.shards, count);
  const step = (minuteOf(ctx.clock()) / BUCKET) * (atOnce < count ? atOnce : 1);
  // After each round the ticks begin one shard later, because `atOnce` and `count` may have a common divisor.
  const start = (step + Math.floor(step / count)) % count;
  const unswept = [...shards.slice(start), ...shards.slice(0, start)];
  return { unswept, overdue: [], audits: [], first: unswept[0] };
}

/**
 * Sweeps first the new jobs of all shards, and then the overdue ones. Only the first shard takes both steps at once, so that some overdue jobs
 * are always handed over. Begins nothing new after `end`. @returns whether a sweep has succeeded
 */
async function sweepLeft(work: Work, left: Left, end: number): Promise<boolean> {
  let hasWorked = false;
  await inLanes(work, end, () => {
    const shard = left.unswept.shift();
    const overdue = shard === undefined ? left.overdue.shift() : undefined;
    if (shard !== undefined) return () => sweepNew(shard);
    if (overdue) return () => sweepOverdue(overdue);
  });
  return hasWorked;

  async function sweepNew(shard: number): Promise<void> {
    const sweeping = sweepShard(work.ctx, shard, end, work.backlogs);
    const swept = await work.guarded(sweeping, `the sweep of shard ${shard}`);
    hasWorked ||= swept !== undefined;
    if (swept?.outcome !== "left") endSweep(shard, swept);
    else if (work.ctx.clock() >= end) left.unswept.unshift(shard);
    else if (shard === left.first) await sweepOverdue({ shard, ranges: swept.ranges });
    else left.overdue.push({ shard, ranges: swept.ranges });
  }

  async function sweepOverdue({ shard, ranges }: Left["overdue"][number]): Promise<void> {
    const sweeping = sweepRest(work.ctx, shard, ranges, end, work.backlogs);
    const swept = await work.guarded(sweeping, `the sweep of shard ${shard}`);
    if (swept?.outcome === "left") left.overdue.unshift({ shard, ranges: swept.ranges });
    else endSweep(shard, swept);
  }

  function endSweep(shard: number, swept: Swept | undefined): void {
    if (swept?.outcome !== "done" || swept.isAuditDue) left.audits.push(shard);
  }
}

/** The alarm on late sweeps reads this metric. */
async function reportLags(work: Work, shards: readonly number[]): Promise<void> {
  const isOver = work.ctx.clock();
  await inParallel(shards, work.ctx.sizes.shards, (shard) =>
    work.guarded(sweepShard(work.ctx, shard, isOver, work.backlogs), `the sweep of shard ${shard}`),
  );
}

async function auditLeft(work: Work, left: Left, end: number): Promise<void> {
  await inLanes(work, end, () => {
    const shard = left.audits.shift();
    if (shard === undefined) return undefined;
    const auditing = () => auditShard(work.ctx, shard, end, work.backlogs);
    return async () => void (await work.guarded(auditing(), `the audit of shard ${shard}`));
  });
}

/** Does as many tasks at once as shards fit into memory (`src/core/work-sizes.ts`), until none is left or the time is over. */
async function inLanes(
  { ctx }: Work,
  end: number,
  take: () => (() => Promise<void>) | undefined,
): Promise<void> {
  const lane = async (): Promise<void> => {
    while (ctx.clock() < end) {
      const task = take();
      if (!task) return;
      await task();
    }
  };
  await Promise.all(Array.from({ length: ctx.sizes.shards }, lane));
}

async function giveLeft(work: Work, sweepers: Sweepers, left: Left, until: number): Promise<Given[]> {
  const { ctx, hung } = work;
  const shards = [...left.unswept, ...left.overdue.map(({ shard }) => shard)];
  if (shards.length < 2 || ctx.clock() >= until) return [];
  const giving = giveAway(ctx, sweepers, shards, hung(), until);
  const division = await work.guarded(giving, "giving shards away");
  if (!division) return [];
  const kept = new Set(division.kept);
  const unswept = left.unswept.splice(0).filter((shard) => kept.has(shard));
  const overdue = left.overdue.splice(0).filter(({ shard }) => kept.has(shard));
  left.unswept.push(...unswept);
  left.overdue.push(...overdue);
  return division.given;
}
