import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { minuteOf } from "../../core/items.ts";
import type { Context } from "../ports.ts";
import { removeDeadLetters } from "../run/remove-dead-letters.ts";
import { circuitBreaker } from "../send/circuit-breaker.ts";
import { shardsToSweep } from "../store/shards.ts";
import { auditShard } from "./audit.ts";
import { backlogsOf } from "./backlog.ts";
import { carryOutPauses } from "./carry-out-pauses.ts";
import type { ShardCursor } from "./cursor.ts";
import { sweepShard } from "./sweep.ts";

/**
 * Does the work of one minute: sweeps each shard and then audits it, several shards at once. Beside that, releases parked jobs. At
 * the end, deletes from the DLQs the letters of jobs that are no longer dead.
 *
 * If one shard fails, the work on all others goes on.
 *
 * @param until ms on the context's clock after which nothing new is begun
 * @throws AggregateError at the end, with the errors of the shards. The failure of one topic or of one DLQ is only reported
 */
export async function tick(outer: Context, until: number): Promise<void> {
  const ctx: Context = { ...outer, queues: circuitBreaker(outer.queues, outer.clock) };
  const backlogs = backlogsOf(ctx);
  const shards = await shardsToSweep(ctx);
  const failures: unknown[] = [];
  const guarded = async (work: Promise<unknown>, what: string): Promise<void> => {
    try {
      await work;
    } catch (error) {
      failures.push(error);
      ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
    }
  };
  // The cursors that sweeps have left to the audits of their shards.
  const unsaved = new Map<number, ShardCursor>();
  const sweep = async (shard: number): Promise<void> => {
    const cursor = await sweepShard(ctx, shard, until, backlogs);
    if (cursor) unsaved.set(shard, cursor);
  };
  await Promise.all([
    guarded(carryOutPauses(ctx, until), "carrying out pauses"),
    workThrough(ctx, shards, async (shard, step) => {
      const work =
        step === "sweep" ? sweep(shard) : auditShard(ctx, shard, until, backlogs, unsaved.get(shard));
      await guarded(work, `the ${step} of shard ${shard}`);
    }),
  ]);
  await removeDeadLetters(ctx, until);
  if (failures.length > 0) throw new AggregateError(failures, messageOf(failures[0]));
}

type Step = "sweep" | "audit";

/**
 * Sweeps all shards, and audits each shard after its sweep. As many shards are worked on at once as fit into memory
 * (`core/work-sizes.ts`). Audits begin only when the last sweep has begun. Each tick begins with other shards: otherwise a busy
 * tick would run out of time at the same shards each minute.
 */
async function workThrough(
  ctx: Context,
  shards: number,
  work: (shard: number, step: Step) => Promise<void>,
): Promise<void> {
  const atOnce = Math.min(ctx.sizes.shards, shards);
  const first = ((minuteOf(ctx.clock()) / BUCKET) * atOnce) % shards;
  const waiting = Array.from({ length: shards }, (_, i): [number, Step] => [(first + i) % shards, "sweep"]);
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [shard, step] = next;
      await work(shard, step);
      if (step === "sweep") waiting.push([shard, "audit"]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
