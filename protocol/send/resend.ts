import { toJson } from "../../core/json.ts";
import { MESSAGE_VERSION, type MessageJob, startOf } from "../../core/message.ts";
import { delaySecondsOf } from "../../core/packs.ts";
import { batchesOf } from "../../general/batches.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";

/** Sends jobs of one topic and group in new messages, which keep the `sentAt` of their first ones. Answers the ids that SQS took. */
export async function resend(
  ctx: Context,
  topic: string,
  group: string | undefined,
  jobs: readonly MessageJob[],
): Promise<Set<string>> {
  const now = ctx.clock();
  const sentAt = new Date(now).toISOString();
  const { pack, precision } = policyOf(ctx, topic);
  const limits = { count: pack, bytes: ctx.sizes.packBytes };
  const byDelay = Map.groupBy(jobs, (job) => delaySecondsOf(startOf(job), now, precision));
  const packs = [...byDelay].flatMap(([delaySeconds, mates]) =>
    batchesOf(mates, (job) => Buffer.byteLength(toJson(job)), limits).map((carried) => ({
      delaySeconds,
      carried,
    })),
  );
  const sent = await ctx.queues.send(
    { topic },
    packs.map(({ delaySeconds, carried }) => ({
      body: toJson({
        v: MESSAGE_VERSION,
        topic,
        group,
        jobs: carried.map((job): MessageJob => ({ sentAt, ...job })),
      }),
      delaySeconds,
      ...(group === undefined ? {} : { group }),
    })),
  );
  return new Set(
    packs.flatMap(({ carried }, i) => (sent[i]?.outcome === "sent" ? carried.map(({ id }) => id) : [])),
  );
}
