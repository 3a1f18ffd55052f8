import type { Context as LambdaContext, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { LONGEST_DELAY, LONGEST_TIMER } from "../core/constants.ts";
import { parseDuration } from "../core/durations.ts";
import { messageOf } from "../core/errors.ts";
import type { MessageJob } from "../core/message.ts";
import type { Context } from "../protocol/ports.ts";
import type { Ending } from "../protocol/settle.ts";
import { createContext } from "./context.ts";
import { type RunJob, runJobs, type Timers } from "./run-jobs.ts";

/** A job as its handler sees it. */
export type Job<Body = unknown> = {
  readonly id: string;
  readonly topic: string;
  readonly body: Body;
  /** When it was due. */
  readonly dueAt: Date;
  /** 1 in the first run. */
  readonly attempt: number;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted shortly before the function times out. A handler that goes on is killed, which counts as a failed attempt. */
  readonly signal: AbortSignal;
  /**
   * Asks for another run after `duration` (seconds, or such as `"10m"`), when the handler returns. It is no
   * failure and counts no attempt. Throws a RangeError for anything else.
   */
  retryIn(duration: number | string): void;
  /** Makes the job dead when the handler returns, whatever attempts it has left. */
  bury(reason: string): void;
};

export type JobHandler<Body> = (job: Job<Body>) => unknown;

/** What Lambda calls. */
export type ConsumerFunction = (event: SQSEvent, context: LambdaContext) => Promise<SQSBatchResponse>;

/**
 * The Lambda function that runs a topic's jobs: `export const handler = consumer(async (job) => { … })`. A
 * handler that returns is done; one that throws has failed, and its job runs again by the topic's backoff.
 */
export function consumer<Body = unknown>(handler: JobHandler<Body>): ConsumerFunction {
  const ctx = createContext();
  return consumeOn(ctx, handler, TIMERS, ctx.telemetry.flush);
}

/** The same over any context. `done` is called after each invocation. */
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
    const deliveries = event.Records.map(({ messageId, receiptHandle, body }) => {
      return { messageId, handle: receiptHandle, body };
    });
    try {
      const kept = await runJobs(ctx, deliveries, run, deadline, timers, longestRun);
      return { batchItemFailures: [...kept].map((itemIdentifier) => ({ itemIdentifier })) };
    } finally {
      done();
    }
  };
}

export const TIMERS: Timers = {
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_TIMER))),
  after(ms, act) {
    const timer = setTimeout(act, Math.min(ms, LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
};

/** Calls the handler with one job, and says how that ended. */
export function runWith<Body>(handler: JobHandler<Body>): RunJob {
  return async (job: MessageJob, topic: string, signal: AbortSignal) => {
    let asked: Ending = { end: "done" };
    const view: Job<Body> = {
      id: job.id,
      topic,
      body: job.body as Body,
      dueAt: new Date(job.dueAt),
      attempt: job.attempt,
      key: job.key,
      headers: job.headers ?? {},
      signal,
      retryIn(duration) {
        const wait = parseDuration(duration);
        if (wait === undefined || wait > LONGEST_DELAY) {
          const allowed = 'seconds (0 or more) or a string such as "10m", at most ten years';
          throw new RangeError(`retryIn takes ${allowed}, got ${duration}`);
        }
        asked = { end: "retry-in", wait };
      },
      bury(reason) {
        // Whatever JavaScript passes: an error, or nothing.
        asked = { end: "buried", error: messageOf(reason) };
      },
    };
    try {
      await handler(view);
      return asked;
    } catch (error) {
      return { end: "failed", error: messageOf(error) };
    }
  };
}
