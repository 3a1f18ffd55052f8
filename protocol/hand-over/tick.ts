import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { minuteOf } from "../../core/items.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { removeDeadLetters } from "../run/remove-dead-letters.ts";
import { circuitBreaker } from "../send/circuit-breaker.ts";
import { shardsToSweep } from "../store/shards.ts";
import { auditShard } from "./audit.ts";
import { type Backlogs, backlogsOf } from "./backlog.ts";
import { carryOutPauses } from "./carry-out-pauses.ts";
import type { ShardCursor } from "./cursor.ts";
import { sweepShard } from "./sweep.ts";

/** How many invocations are started at once. */
const STARTED_AT_ONCE = 16;
/**
 * How long after the beginning of its tick a further invocation begins nothing new: ms. The next tick begins a minute after this tick, with
 * all shards. If both swept a shard at the same time, they would send the same jobs.
 */
const SWEEPERS_WORK_FOR = BUCKET - 5_000;

/**
 * Does the work of one minute: sweeps each shard and then audits it, several shards at once. Beside that, releases parked jobs. At
 * the end, deletes from the DLQs the letters of jobs that are no longer dead.
 *
 * After five seconds (`sizes.alone`), the tick divides the shards that are not done among further invocations and itself
 * (`ctx.sweepers`). So a backlog is worked off by many functions, and an idle queue costs one invocation a minute. If one of these
 * invocations dies, the next tick goes on at the cursors of its shards.
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
  const aloneUntil = ctx.sweepers ? Math.min(until, startedAt + ctx.sizes.alone) : until;
  const sweepAll = async (): Promise<void> => {
    const left = await workThrough(work, all, aloneUntil);
    if (ctx.clock() >= until) return;
    const kept = await startSweepers(ctx, left, Math.min(until, startedAt + SWEEPERS_WORK_FOR));
    await workThrough(work, kept, until);
  };
  await Promise.all([work.guarded(carryOutPauses(ctx, until), "carrying out pauses"), sweepAll()]);
  await removeDeadLetters(ctx, until);
  work.throwFailures();
}

/**
 * Sweeps and audits some shards, for a tick that cannot do all of its work alone.
 *
 * @param until ms on the context's clock after which nothing new is begun
 * @throws AggregateError at the end, with the errors of the shards
 */
export async function sweepShards(outer: Context, shards: readonly number[], until: number): Promise<void> {
  const work = workOf(outer);
  await workThrough(work, shards, until);
  work.throwFailures();
}

/** What the parts of one invocation share. */
type Work = {
  readonly ctx: Context;
  readonly backlogs: Backlogs;
  /** Waits for a part of the work. If the part fails, reports the failure, and the other parts go on. */
  readonly guarded: (part: Promise<unknown>, what: string) => Promise<void>;
  readonly throwFailures: () => void;
};

function workOf(outer: Context): Work {
  const ctx: Context = { ...outer, queues: circuitBreaker(outer.queues, outer.clock) };
  const failures: unknown[] = [];
  return {
    ctx,
    backlogs: backlogsOf(ctx),
    async guarded(part, what) {
      try {
        await part;
      } catch (error) {
        failures.push(error);
        ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
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
 * @returns the shards that may not be done, because the time is over
 */
async function workThrough(
  { ctx, backlogs, guarded }: Work,
  shards: readonly number[],
  until: number,
): Promise<number[]> {
  const atOnce = Math.min(ctx.sizes.shards, shards.length);
  const first = ((minuteOf(ctx.clock()) / BUCKET) * atOnce) % Math.max(shards.length, 1);
  const inTurn = [...shards.slice(first), ...shards.slice(0, first)];
  const waiting = inTurn.map((shard): [number, Step] => [shard, "sweep"]);
  // The cursors that sweeps have left to the audits of their shards.
  const unsaved = new Map<number, ShardCursor>();
  const sweep = async (shard: number): Promise<void> => {
    const cursor = await sweepShard(ctx, shard, until, backlogs);
    if (cursor) unsaved.set(shard, cursor);
  };
  const left = new Set<number>();
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [shard, step] = next;
      const part =
        step === "sweep" ? sweep(shard) : auditShard(ctx, shard, until, backlogs, unsaved.get(shard));
      await guarded(part, `the ${step} of shard ${shard}`);
      if (step === "sweep") waiting.push([shard, "audit"]);
      if (ctx.clock() >= until) left.add(shard);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return [...left];
}

/**
 * Divides shards among this invocation and further ones, and starts the further ones.
 * @param until ms since the epoch after which the further invocations begin nothing new
 * @returns the shards that are left to this invocation, with those for which no invocation could be started
 */
async function startSweepers(ctx: Context, shards: readonly number[], until: number): Promise<number[]> {
  const { sweepers } = ctx;
  if (!sweepers || ctx.clock() >= until) return [...shards];
  const count = Math.min(shards.length, sweepers.most + 1);
  const [own = [], ...others] = Array.from({ length: count }, (_, i) =>
    shards.filter((_, place) => place % count === i),
  );
  const kept = await inParallel(others, STARTED_AT_ONCE, async (part) => {
    try {
      await sweepers.start(part, until);
      return [];
    } catch (error) {
      const what = "starting a further invocation for shards with a backlog";
      ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
      return part;
    }
  });
  return [...own, ...kept.flat()];
}
