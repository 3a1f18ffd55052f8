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
import { hasUnreadMinutes, sweepShard } from "./sweep.ts";

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
  /** Waits for a part of the work. If the part fails, reports the failure, and the other parts go on. Answers whether it succeeded. */
  readonly guarded: (part: Promise<unknown>, what: string) => Promise<boolean>;
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
        await part;
        return true;
      } catch (error) {
        failures.push(error);
        ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
        return false;
      }
    },
    throwFailures() {
      if (failures.length > 0) throw new AggregateError(failures, messageOf(failures[0]));
    },
  };
}

type Step = "sweep" | "audit";

/**
 * Sweeps these shards, and audits each shard after its sweep. As many shards are worked on at once as fit into memory
 * (`core/work-sizes.ts`). Audits begin only when the last sweep has begun. Each tick begins with other shards: otherwise a busy
 * tick would run out of time at the same shards each minute.
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
  const waiting = inTurn.map((shard): [number, Step] => [shard, "sweep"]);
  // The shards that this invocation sweeps to their ends.
  const own = new Set<number>(division ? [] : shards);
  const giving: Promise<void>[] = [];
  const give = (given: readonly number[]): void => {
    if (!division || given.length === 0) return;
    const kept = division.give(given);
    giving.push(
      kept.then((left) => {
        for (const shard of left) own.add(shard);
        waiting.unshift(...left.map((shard): [number, Step] => [shard, "sweep"]));
      }),
    );
  };
  // Only this process knows which minutes it has passed over. Another process would hand over the minutes after them once more.
  const isGiven = (shard: number): boolean => !own.has(shard) && !hasUnreadMinutes(ctx, shard);
  const take = (): [number, Step] | undefined => {
    if (division?.isTime()) {
      const given = waiting.flatMap(([shard, step]) => (step === "sweep" && isGiven(shard) ? shard : []));
      const rest = waiting.filter(([shard]) => !given.includes(shard));
      waiting.splice(0, waiting.length, ...rest);
      give(given);
    }
    return waiting.shift();
  };
  // The cursors that sweeps have left to the audits of their shards.
  const unsaved = new Map<number, ShardCursor>();
  /** Sweeps a shard until the time of working alone ends, or, if this invocation must do the shard itself, to its end. */
  const sweep = async (shard: number): Promise<void> => {
    if (division?.canGive() === false) own.add(shard);
    const mayBeGiven = isGiven(shard);
    const sweeping = sweepShard(ctx, shard, division && mayBeGiven ? division.at : until, backlogs);
    const isSwept = await guarded(
      sweeping.then((cursor) => void (cursor && unsaved.set(shard, cursor))),
      `the sweep of shard ${shard}`,
    );
    if (isSwept) division?.worked();
    const isCutShort = isSwept && division && mayBeGiven && !unsaved.has(shard) && division.at <= ctx.clock();
    if (!isCutShort) waiting.push([shard, "audit"]);
    // One shard stays, so that this invocation has a share.
    else if (own.size > 0 && isGiven(shard) && division.isTime()) give([shard]);
    else {
      own.add(shard);
      waiting.unshift([shard, "sweep"]);
    }
  };
  const lane = async (): Promise<void> => {
    for (let next = take(); next; next = take()) {
      const [shard, step] = next;
      if (step === "sweep") await sweep(shard);
      else {
        const audit = auditShard(ctx, shard, until, backlogs, unsaved.get(shard));
        await guarded(audit, `the audit of shard ${shard}`);
      }
    }
  };
  do {
    await Promise.all(Array.from({ length: atOnce }, lane));
    await Promise.all(giving.splice(0));
  } while (waiting.length > 0);
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
