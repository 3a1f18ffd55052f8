import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { minuteOf } from "../../core/items.ts";
import type { KnownQueues, TickPart } from "../../core/tick-part.ts";
import type { Context } from "../ports.ts";
import { removeDeadLetters } from "../run/remove-dead-letters.ts";
import { circuitBreaker } from "../send/circuit-breaker.ts";
import { shardsToSweep } from "../store/shards.ts";
import { auditShard } from "./audit.ts";
import { type Backlogs, backlogsOf, knownBacklogs } from "./backlog.ts";
import { carryOutPauses } from "./carry-out-pauses.ts";
import { type Division, divisionOf, type SweepTask } from "./division.ts";
import { sweepRest, sweepShard } from "./sweep.ts";

/**
 * Does the work of one minute: sweeps each shard and then audits it, several shards at once. Beside that, releases parked jobs. At
 * the end, deletes from the DLQs the letters of jobs that are no longer dead.
 *
 * After five seconds (`sizes.alone`), the tick gives the shards that are not swept to further invocations
 * (`ctx.sweepers`). So a backlog is worked off by many functions, and a queue without a backlog costs one invocation a minute. If one of
 * these invocations dies, the next tick goes on at the cursors of its shards.
 *
 * If one shard fails, the work on all others goes on.
 *
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
    workThrough(work, all, until, divisionOf(ctx, { ...work, shards }, startedAt, until)),
  ]);
  await removeDeadLetters(ctx, until);
  work.throwFailures();
}

/**
 * Does a part of the work of a tick with a backlog: sweeps and audits some shards, or only hands over the jobs of some ranges of one
 * shard, or only audits one shard.
 *
 * @param until ms on the context's clock after which nothing new is begun
 * @throws AggregateError at the end, with the errors of the shards
 */
export async function sweepPart(outer: Context, part: TickPart, until: number): Promise<void> {
  const work = workOf(outer, part);
  const { shards, ranges } = part;
  const [shard] = shards;
  if (ranges && shard !== undefined) {
    const isAudit = ranges.length === 0;
    const doing = isAudit
      ? auditShard(work.ctx, shard, until, work.backlogs)
      : sweepRest(work.ctx, shard, ranges, until, work.backlogs);
    await work.guarded<unknown>(doing, `the ${isAudit ? "audit" : "sweep"} of shard ${shard}`);
  } else await workThrough(work, shards, until);
  work.throwFailures();
}

/** What the parts of one invocation share. */
type Work = {
  readonly ctx: Context;
  readonly backlogs: Backlogs;
  /** Answers the queues that have hung. */
  readonly hung: () => readonly string[];
  /** Waits for a part of the work, and answers the part's result. If the part fails, reports the failure and answers `undefined`, and the other parts go on. */
  readonly guarded: <Answer>(part: Promise<Answer>, what: string) => Promise<Answer | undefined>;
  readonly throwFailures: () => void;
};

function workOf(outer: Context, known?: KnownQueues): Work {
  const queues = circuitBreaker(outer.queues, outer.clock, known?.hung);
  const ctx: Context = { ...outer, queues };
  const failures: unknown[] = [];
  return {
    ctx,
    backlogs: known ? knownBacklogs(known.behind) : backlogsOf(ctx),
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

/**
 * Sweeps these shards, and audits each shard after its sweep. As many shards are worked on at once as fit into memory
 * (`core/work-sizes.ts`).
 *
 * A sweep has two steps: first the jobs of the present minute and the next ones, and then the overdue jobs. All shards take the first step
 * before a shard takes the second step. Only the first shard takes the second step directly after the first step. So overdue jobs are handed over too if the tick has no
 * time for more. Each tick has another first shard. Audits begin only when the last sweep has begun.
 * @param division present: shards that are not swept in time are given to further invocations
 */
async function workThrough(
  { ctx, backlogs, guarded }: Work,
  shards: readonly number[],
  until: number,
  division?: Division,
): Promise<void> {
  const atOnce = Math.min(ctx.sizes.shards, shards.length);
  const count = Math.max(shards.length, 1);
  const step = (minuteOf(ctx.clock()) / BUCKET) * (atOnce < count ? atOnce : 1);
  // After each round the ticks begin one shard later. Otherwise, if `atOnce` and `count` have a common divisor, some shards would never be first.
  const first = (step + Math.floor(step / count)) % count;
  const inTurn = [...shards.slice(first), ...shards.slice(0, first)];
  let sweeps = inTurn.map((shard): SweepTask => ({ shard }));
  // The ranges that sweeps have left.
  let remainders: SweepTask[] = [];
  const audits: number[] = [];
  // The shards that this invocation sweeps to their ends.
  const own = new Set<number>(division ? [] : shards);
  // Shared shards: the audit of such a shard is a piece of its own, which goes to a further invocation.
  const auditedElsewhere = new Set<number>();
  const giving: Promise<void>[] = [];
  const doFirst = (task: SweepTask): void => void (task.ranges ? remainders : sweeps).unshift(task);
  const give = (given: readonly SweepTask[]): void => {
    if (!division || given.length === 0) return;
    if (!division.isByShard) for (const { shard, ranges } of given) if (ranges) auditedElsewhere.add(shard);
    const kept = division.give(given);
    giving.push(
      kept.then((left) => {
        for (const task of left) {
          own.add(task.shard);
          if (task.ranges?.length === 0) audits.push(task.shard);
          else doFirst(task);
        }
      }),
    );
  };
  const isOwn = ({ shard }: SweepTask): boolean => own.has(shard);
  const take = (): SweepTask | undefined => {
    if (division?.isTime()) {
      const given = [...sweeps, ...remainders].filter((task) => !isOwn(task));
      [sweeps, remainders] = [sweeps.filter(isOwn), remainders.filter(isOwn)];
      give(given);
    }
    return sweeps.shift() ?? remainders.shift();
  };
  /** Sweeps a shard until the time of working alone ends, or, if this invocation must do the shard itself, to its end. */
  const sweep = async ({ shard, ranges }: SweepTask): Promise<void> => {
    if (division?.canGive() === false) own.add(shard);
    const mayBeGiven = division !== undefined && !own.has(shard);
    const end = mayBeGiven ? division.at : (division?.end ?? until);
    const sweeping = ranges
      ? sweepRest(ctx, shard, ranges, end, backlogs)
      : sweepShard(ctx, shard, end, backlogs);
    const swept = await guarded(sweeping, `the sweep of shard ${shard}`);
    if (swept) division?.worked();
    const next = swept?.outcome === "left" && { shard, ranges: swept.ranges };
    if (next && ctx.clock() < end) {
      // Only overdue jobs are left.
      if (shard === inTurn[0]) await sweep(next);
      else remainders.push(next);
    } else if (!next || !mayBeGiven) {
      const isAuditDue = swept?.outcome !== "done" || swept.isAuditDue;
      if (isAuditDue && !auditedElsewhere.has(shard)) audits.push(shard);
    }
    // If each shard goes to one invocation, one shard stays here, so that this invocation has a share.
    else if (division.isTime() && !own.has(shard) && (own.size > 0 || !division.isByShard)) give([next]);
    else {
      own.add(shard);
      doFirst(next);
    }
  };
  const lane = async (): Promise<void> => {
    for (;;) {
      const task = take();
      const audited = task ? undefined : audits.shift();
      if (task) await sweep(task);
      else if (audited !== undefined) {
        await guarded(auditShard(ctx, audited, until, backlogs), `the audit of shard ${audited}`);
      } else break;
    }
  };
  do {
    await Promise.all(Array.from({ length: atOnce }, lane));
    await Promise.all(giving.splice(0));
  } while (sweeps.length + remainders.length + audits.length > 0);
}
