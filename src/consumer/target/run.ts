import type { Invoke, Invoked } from "../../aws/invoke.ts";
import { messageOf } from "../../core/errors.ts";
import { toJson } from "../../core/json.ts";
import type { MessageJob } from "../../core/message.ts";
import type { Context, Timers } from "../../protocol/ports.ts";
import { THROTTLED_WAITS } from "../../settings/target-times.ts";
import { answerWithin } from "../answer-within.ts";
import { oneLineError } from "../error-text.ts";
import type { RunJob } from "../run-jobs.ts";
import { endingOf } from "./answer.ts";

type TargetContext = Pick<Context, "random" | "report">;

/** Makes the function that invokes the target once for each run and never throws. `longest`: of an invocation, ms. */
export function targetRun(
  ctx: TargetContext,
  { invoke, longest }: { invoke: Invoke; longest: number },
  wait: Timers["wait"],
): RunJob {
  return async (job, topic, signal) => {
    try {
      const invoked = await unlessThrottled(
        ctx,
        () => answerWithin(longest / 1000, signal, (either) => invoke(eventOf(job, topic), either)),
        wait,
      );
      if (!("throttled" in invoked)) return endingOf(invoked, job);
      ctx.report({ type: "trouble", topic, what: "invoking the target", error: invoked.throttled });
      return { end: "throttled", error: invoked.throttled };
    } catch (error) {
      return { end: "failed", error: oneLineError(messageOf(error)) };
    }
  };
}

/** The fields of a job that a puller gets, without those of its lease. */
function eventOf(job: MessageJob, topic: string): string {
  const { id, key, attempt, dueAt, body, headers, schedule, scheduledFor, traceparent } = job;
  return toJson({ id, topic, key, attempt, dueAt, body, headers, schedule, scheduledFor, traceparent });
}

/** Invokes again after each of `THROTTLED_WAITS`: a function that Lambda did not start has not run. */
async function unlessThrottled(
  ctx: TargetContext,
  invoke: () => Promise<Invoked>,
  wait: Timers["wait"],
): Promise<Invoked> {
  for (const longest of THROTTLED_WAITS) {
    const invoked = await invoke();
    if (!("throttled" in invoked)) return invoked;
    await wait(spread(ctx, longest));
  }
  return invoke();
}

/** A random time from half of `longest` on: ms. */
function spread({ random }: TargetContext, longest: number): number {
  const [byte = 0] = random(1);
  return Math.round(longest * (0.5 + byte / 510));
}
