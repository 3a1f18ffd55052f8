import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { minuteOf } from "../../core/items.ts";
import type { KnownQueues } from "../../core/tick-part.ts";
import type { Context } from "../ports.ts";
import { removeDeadLetters } from "../run/remove-dead-letters.ts";
import { circuitBreaker } from "../send/circuit-breaker.ts";
import { shardsToSweep } from "../store/shards.ts";
import { auditShard } from "./audit.ts";
import { type Backlogs, backlogsOf, knownBacklogs, topicsBehind } from "./backlog.ts";
import { carryOutPauses } from "./carry-out-pauses.ts";
import type { ShardCursor } from "./cursor.ts";
import { sweepShard } from "./sweep.ts";

/**
 * How long after the beginning of its tick a further invocation begins nothing new: ms. The next tick begins a minute after this tick, with
 * all shards. If both swept a shard at the same time, they would send the same jobs.
 */
const SWEEPERS_WORK_FOR = BUCKET - 5_000;

/**
 * Does the work of one minute: sweeps each shard and then audits it, several shards at once. Beside that, releases parked jobs. At
 * the end, deletes from the DLQs the letters of jobs that are no longer dead.
 *
 * After five seconds (`sizes.alone`), the tick gives the shards that are not swept to further invocations (`ctx.sweepers`). So a backlog is
 * worked off by many functions, and a queue without a backlog costs one invocation a minute. If one of these invocations dies, the next tick
 * goes on at the cursors of its shards.
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
    workThrough(work, all, until, divisionOf(work, startedAt, until)),
  ]);
  await removeDeadLetters(ctx, until);
  work.throwFailures();
}

/**
 * Sweeps and audits some shards, for a tick that has a backlog.
 *
 * @param known what the tick knew about the queues
 * @param until ms on the context's clock after which nothing new is begun
 * @throws AggregateError at the end, with the errors of the shards
 */
export async function sweepShards(
  outer: Context,
  shards: readonly number[],
  known: KnownQueues,
  until: number,
): Promise<void> {
  const work = workOf(outer, known);
  await workThrough(work, shards, until);
  work.throwFailures();
}

/** What the parts of one invocation share. */
type Work = {
  readonly ctx: Context;
  readonly backlogs: Backlogs;
  /** Answers the queues that have hung. */
  readonly hung: () => readonly string[];
  /** Waits for a part of the work, and answers what it has answered. If the part fails, reports the failure, and the other parts go on. */
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
 * The steps of the work on a shard, in their order. All shards take a step before the first one takes the next step. So after an
 * outage, the jobs of the present minute and the next ones are handed over before the overdue jobs (`late`). Only the first shard of a tick
 * takes both steps at once. Each tick begins with other shards, so a tick that has no time for a second step works off overdue jobs too.
 */
const STEPS = ["sweep", "late", "audit"] as const;
type Step = (typeof STEPS)[number];

/**
 * Sweeps these shards, and audits each shard after its sweep. As many shards are worked on at once as fit into memory
 * (`core/work-sizes.ts`).
 * @param division present: shards that are not swept in time are given to further invocations
 */
async function workThrough(
  { ctx, backlogs, guarded }: Work,
  shards: readonly number[],
  until: number,
  division?: Division,
): Promise<void> {
  const atOnce = Math.min(ctx.sizes.shards, shards.length);
  const first = ((minuteOf(ctx.clock()) / BUCKET) * atOnce) % Math.max(shards.length, 1);
  const inTurn = [...shards.slice(first), ...shards.slice(0, first)];
  const [firstOfAll] = inTurn;
  const waiting: Record<Step, number[]> = { sweep: inTurn, late: [], audit: [] };
  // The shards that this invocation sweeps to their ends.
  const own = new Set<number>(division ? [] : shards);
  const giving: Promise<void>[] = [];
  const give = (given: readonly number[]): void => {
    if (!division || given.length === 0) return;
    const kept = division.give(given);
    giving.push(
      kept.then((left) => {
        for (const shard of left) own.add(shard);
        waiting.sweep.unshift(...left);
      }),
    );
  };
  const take = (): [number, Step] | undefined => {
    if (division?.isTime()) {
      const isGiven = (shard: number): boolean => !own.has(shard);
      const given = [...waiting.sweep, ...waiting.late].filter(isGiven);
      for (const step of ["sweep", "late"] as const)
        waiting[step] = waiting[step].filter((shard) => !isGiven(shard));
      give(given);
    }
    const step = STEPS.find((one) => waiting[one].length > 0);
    const shard = step && waiting[step].shift();
    return step && shard !== undefined ? [shard, step] : undefined;
  };
  // The cursors that sweeps have left to the audits of their shards.
  const unsaved = new Map<number, ShardCursor>();
  /** Sweeps a shard until the time of working alone ends, or, if this invocation must do the shard itself, to its end. */
  const sweep = async (shard: number, step: "sweep" | "late"): Promise<void> => {
    if (division?.canGive() === false) own.add(shard);
    const mayBeGiven = !own.has(shard);
    const end = division && mayBeGiven ? division.at : until;
    const what = step === "late" || shard === firstOfAll ? "all" : "not-late";
    const sweeping = sweepShard(ctx, shard, end, backlogs, what);
    const swept = await guarded(sweeping, `the sweep of shard ${shard}`);
    if (swept) division?.worked();
    if (swept?.outcome === "late-left") waiting.late.push(shard);
    else if (swept?.outcome !== "out-of-time" || !division || !mayBeGiven) {
      if (swept?.outcome === "done" && swept.cursor) unsaved.set(shard, swept.cursor);
      waiting.audit.push(shard);
    }
    // One shard stays, so that this invocation has a share.
    else if (own.size > 0 && !own.has(shard) && division.isTime()) give([shard]);
    else {
      own.add(shard);
      waiting.sweep.unshift(shard);
    }
  };
  const lane = async (): Promise<void> => {
    for (let next = take(); next; next = take()) {
      const [shard, step] = next;
      if (step === "audit") {
        const audit = auditShard(ctx, shard, until, backlogs, unsaved.get(shard));
        await guarded(audit, `the audit of shard ${shard}`);
      } else await sweep(shard, step);
    }
  };
  do {
    await Promise.all(Array.from({ length: atOnce }, lane));
    await Promise.all(giving.splice(0));
  } while (STEPS.some((step) => waiting[step].length > 0));
}

/** How a tick gives shards to further invocations. */
type Division = {
  /** When the time of working alone ends: ms since the epoch. */
  readonly at: number;
  /** Whether further invocations may still be started. */
  readonly canGive: () => boolean;
  /** Whether it is time to give shards away. */
  readonly isTime: () => boolean;
  /** Says that a shard was swept. While each sweep fails, further invocations would fail too, so none is started. */
  readonly worked: () => void;
  /** Divides these shards among further invocations. Answers the shards that this invocation must do itself. */
  readonly give: (shards: readonly number[]) => Promise<number[]>;
};

function divisionOf({ ctx, backlogs, hung }: Work, startedAt: number, until: number): Division | undefined {
  const { sweepers } = ctx;
  if (!sweepers || sweepers.most === 0) return undefined;
  const end = Math.min(until, startedAt + SWEEPERS_WORK_FOR);
  const at = Math.min(until, startedAt + ctx.sizes.alone);
  let left = sweepers.most;
  let hasWorked = false;
  let behind: Promise<string[]> | undefined;
  const canGive = (): boolean => left > 0 && ctx.clock() < end;
  return {
    at,
    canGive,
    isTime: () => hasWorked && canGive() && at <= ctx.clock(),
    worked() {
      hasWorked = true;
    },
    async give(shards) {
      // The last share stays here if there are more shards than invocations.
      const count = Math.min(shards.length, left);
      const shares = shards.length > left ? count + 1 : count;
      left -= count;
      const parts = Array.from({ length: shares }, (_, i) => shards.filter((_, n) => n % shares === i));
      behind ??= topicsBehind(backlogs, Object.keys(ctx.policy.topics));
      const known: KnownQueues = { behind: await behind, hung: hung() };
      const kept = await Promise.all(
        parts.map(async (part, i) => {
          if (i >= count || ctx.clock() >= end) return part;
          try {
            await sweepers.start({ shards: part, ...known, until: end });
            return [];
          } catch (error) {
            const what = "starting a further invocation for shards with a backlog";
            ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
            return part;
          }
        }),
      );
      return kept.flat();
    },
  };
}
