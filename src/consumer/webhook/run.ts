import { messageOf } from "../../core/errors.ts";
import type { MessageJob } from "../../core/message.ts";
import type { Context } from "../../protocol/ports.ts";
import type { Ending } from "../../protocol/run/settle.ts";
import { oneLineError } from "../error-text.ts";
import { callOf, type Post } from "./call.ts";
import { outcomeOf } from "./outcome.ts";
import { signWith } from "./sign.ts";

type RunWebhook = (job: MessageJob, topic: string, signal: AbortSignal) => Promise<Ending>;

/** Makes the function that makes one call for each run and never throws. Throws itself if the current secret, the first, is none. */
export function webhookRun(
  ctx: Pick<Context, "policy" | "clock">,
  { secrets, post }: { secrets: readonly string[]; post: Post },
): RunWebhook {
  const sign = signWith(secrets);
  return async (job, topic, signal) => {
    try {
      const reply = await post(callOf(ctx, sign, job, topic), signal);
      return outcomeOf(reply, job.attempt, ctx.clock());
    } catch (error) {
      return { end: "failed", error: oneLineError(messageOf(error)) };
    }
  };
}
