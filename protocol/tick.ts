import { messageOf } from "../core/errors.ts";
import { auditShard } from "./audit.ts";
import { removeDeadLetters } from "./dead-letters.ts";
import type { Context } from "./ports.ts";
import { ensureShards } from "./shards.ts";
import { sweepShard } from "./sweep.ts";
import { tendPauses } from "./tend-pauses.ts";

/**
 * One pass over everything: each shard swept, then audited, all of them concurrently, what is being resumed let go, and
 * the DLQs put in order. `until`: ms on the context's clock after which nothing new is begun.
 *
 * One shard's failure does not keep the others from their work; it is thrown when all have ended.
 */
export async function tick(ctx: Context, until: number): Promise<void> {
  const shards = await ensureShards(ctx);
  const failures: unknown[] = [];
  const guarded = async (work: Promise<unknown>, what: string): Promise<void> => {
    try {
      await work;
    } catch (error) {
      failures.push(error);
      ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
    }
  };
  await Promise.all([
    guarded(tendPauses(ctx, until), "looking at pauses"),
    ...Array.from({ length: shards }, (_, shard) =>
      guarded(
        sweepShard(ctx, shard, until).then(() => auditShard(ctx, shard, until)),
        `sweeping and auditing shard ${shard}`,
      ),
    ),
  ]);
  await removeDeadLetters(ctx, until);
  if (failures.length > 0) throw new AggregateError(failures, messageOf(failures[0]));
}
