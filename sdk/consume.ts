import type { Context as LambdaContext, SQSBatchResponse, SQSEvent } from "aws-lambda";
import type { Context, Timers } from "../protocol/ports.ts";
import { type JobHandler, runWith } from "./run-handler.ts";
import { type RunJob, runJobs } from "./run-jobs.ts";

/** What Lambda calls. */
export type ConsumerFunction = (event: SQSEvent, context: LambdaContext) => Promise<SQSBatchResponse>;

/** A consumer over any context. `done` is called after each invocation. */
export function consumeOn<Body>(
  ctx: Context,
  handler: JobHandler<Body>,
  timers: Timers,
  done: () => void,
): ConsumerFunction {
  return consumeWith(ctx, runWith(handler), timers, done);
}

/** The same for jobs that are run by other means than a handler. `longestRun`: see `runJobs`. */
export function consumeWith(
  ctx: Context,
  run: RunJob,
  timers: Timers,
  done: () => void,
  longestRun = 0,
): ConsumerFunction {
  return async (event, { getRemainingTimeInMillis }) => {
    const deadline = ctx.clock() + getRemainingTimeInMillis();
    const deliveries = event.Records.map(({ messageId, receiptHandle, body, attributes }) => {
      const receives = Number(attributes?.ApproximateReceiveCount ?? 1);
      return { messageId, handle: receiptHandle, body, receives };
    });
    try {
      const kept = await runJobs(ctx, deliveries, run, deadline, timers, longestRun);
      return { batchItemFailures: [...kept].map((itemIdentifier) => ({ itemIdentifier })) };
    } finally {
      done();
    }
  };
}
