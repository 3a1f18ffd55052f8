import type { Context as LambdaContext, SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { ANSWER_BEFORE, VISIBILITY_MARGIN } from "../core/constants.ts";
import type { Context, Timers } from "../protocol/ports.ts";
import type { Delivery } from "./open-messages.ts";
import { type JobHandler, runWith } from "./run-handler.ts";
import { type RunJob, runJobs } from "./run-jobs.ts";

export type ConsumerFunction = (event: SQSEvent, context: LambdaContext) => Promise<SQSBatchResponse>;

/** `by`: until when it may wait, ms since the epoch. */
export type Done = (by?: number) => unknown;

/** `done` is awaited after each invocation. */
export function consumeOn<Body>(
  ctx: Context,
  handler: JobHandler<Body>,
  timers: Timers,
  done: Done,
): ConsumerFunction {
  return consumeWith(ctx, runWith(handler), timers, done);
}

/** `longestRun`: see `runJobs`. */
export function consumeWith(
  ctx: Context,
  run: RunJob,
  timers: Timers,
  done: Done,
  longestRun = 0,
): ConsumerFunction {
  return async (event, { getRemainingTimeInMillis }) => {
    const timeout = getRemainingTimeInMillis();
    const deadline = ctx.clock() + timeout;
    const deliveries = event.Records.map((record) => deliveryOf(record, timeout));
    try {
      const kept = await runJobs(ctx, deliveries, run, deadline, timers, longestRun);
      return { batchItemFailures: [...kept].map((itemIdentifier) => ({ itemIdentifier })) };
    } finally {
      // Lambda must get the answer in any case, or SQS delivers the messages again.
      await done(deadline - Math.min(ANSWER_BEFORE, timeout / 16) / 2);
    }
  };
}

/**
 * Only a first receive gets `visibleAt`: SQS does not tell the times of later ones.
 * @param timeout the function's, ms. The queue's visibility timeout is longer by `VISIBILITY_MARGIN`
 */
function deliveryOf({ messageId, receiptHandle, body, attributes }: SQSRecord, timeout: number): Delivery {
  const receives = Number(attributes?.ApproximateReceiveCount ?? 1);
  const first = Number(attributes?.ApproximateFirstReceiveTimestamp);
  const visibleAt = receives === 1 && first > 0 ? { visibleAt: first + timeout + VISIBILITY_MARGIN } : {};
  return { messageId, handle: receiptHandle, body, receives, ...visibleAt };
}
