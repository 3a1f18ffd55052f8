import { MinutehandError, messageOf } from "../core/errors.ts";
import { isNear } from "../core/home.ts";
import type { Home } from "../core/items.ts";
import type { Enqueued } from "./new-job.ts";
import type { Context } from "./ports.ts";
import { send, sendIfNear } from "./send.ts";

/**
 * Files jobs that have neither key nor `Idempotency-Key`, each on its own, and answers in their order. `by`: the
 * deadline of the times in them.
 */
export async function filePlain(
  ctx: Context,
  homes: readonly Home[],
  by: number,
): Promise<(Enqueued | MinutehandError)[]> {
  const straight = homes.filter((home) => home.untracked && isNear(home.dueAt, ctx.clock()));
  const filed = homes.filter((home) => !straight.includes(home));
  const inserted = await ctx.pool.insert(filed, by);
  const refused = new Map<string, MinutehandError>();
  for (const [i, home] of filed.entries()) {
    // An id just drawn that exists is one's own earlier effect.
    const outcome = inserted[i];
    if (outcome instanceof Error) refused.set(home.id, unavailable(outcome));
  }
  // Untracked ones too: near only now, the sweep may have passed while they were being written.
  const stored = filed.filter((home) => !refused.has(home.id));
  try {
    await sendIfNear(ctx, stored);
  } catch (error) {
    // Filed, but perhaps for the audit to find: not on time, so not acknowledged.
    for (const home of stored) if (isNear(home.dueAt, ctx.clock())) refused.set(home.id, unavailable(error));
  }
  // A near untracked job has no home: what SQS does not take is not acknowledged.
  for (const [id, sent] of await send(ctx, straight)) {
    if (sent.outcome !== "sent") refused.set(id, unavailable(new Error(sent.reason)));
  }
  return homes.map((home) => {
    const refusal = refused.get(home.id);
    if (refusal) return refusal;
    ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
    return { outcome: "created", home };
  });
}

/** One job's trouble is no other's of its batch. */
export function unavailable(cause: unknown): MinutehandError {
  if (cause instanceof MinutehandError) return cause;
  return new MinutehandError("unavailable", `the job was not filed: ${messageOf(cause)}`, {}, cause);
}
