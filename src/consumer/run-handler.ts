import { DAY, LONGEST_DELAY, LONGEST_UNTRACKED_WAIT } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import type { JsonOf } from "../core/json-of.ts";
import type { MessageJob } from "../core/message.ts";
import { describeThrown } from "../core/thrown.ts";
import { runInChain } from "../environment/process.ts";
import { errorTextOf } from "../environment/thrown-text.ts";
import { type Duration, insteadOfMilliseconds, parseDuration } from "../general/times.ts";
import type { Ending } from "../protocol/run/settle.ts";
import { continueTrace } from "./continue-trace.ts";
import type { RunJob } from "./run-jobs.ts";

// An interface, not a type: the compiler compares two jobs by the types of their bodies, and could not see through `JsonOf`.
/** A job as its handler sees it, with the type of the body that the handler gets. */
export interface CheckedJob<Body> {
  readonly id: string;
  readonly topic: string;
  readonly body: Body;
  /** When the job was due. */
  readonly dueAt: Date;
  /** 1 in the first run. */
  readonly attempt: number;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The name of the schedule that has filed the job. Absent from other jobs. */
  readonly schedule?: string;
  /** The time of the schedule's occurrence, also in a late run or a retry. Absent if a call of `/run` has filed the job. */
  readonly scheduledFor?: Date;
  /** Aborted shortly before the function times out. Lambda kills a handler that goes on, and the run counts as a failed attempt. */
  readonly signal: AbortSignal;
  /**
   * Asks for another run, `duration` (seconds, or a string such as `"10m"`) after the handler returns. This run is no failure, and counts as no
   * attempt. At most ten years, for an untracked job 7 days, because only SQS stores it. Throws a `RangeError` for other values.
   */
  retryIn(duration: Duration): void;
  /** Makes the job dead when the handler returns, whatever attempts it has left. */
  bury(reason: string): void;
}

/** A job as its handler sees it. `Body` is the type of the body that was filed: the handler reads what JSON makes of it. */
export type Job<Body = unknown> = CheckedJob<JsonOf<Body>>;

export interface CheckedHandler<Body> {
  // biome-ignore lint/style/useShorthandFunctionType: a function type would hide the type of the body, as above.
  (job: CheckedJob<Body>): unknown;
}

export type JobHandler<Body> = CheckedHandler<JsonOf<Body>>;

export function runWith<Body>(handler: JobHandler<Body>): RunJob {
  const run = runUntraced(handler);
  return (job, topic, signal) =>
    job.traceparent === undefined
      ? run(job, topic, signal)
      : continueTrace(job, topic, job.traceparent, () => run(job, topic, signal));
}

function runUntraced<Body>(handler: JobHandler<Body>): RunJob {
  return async (job: MessageJob, topic: string, signal: AbortSignal) => {
    let asked: Ending = { end: "done" };
    const view: Job<Body> = {
      id: job.id,
      topic,
      // The next message and the dead letter of an untracked job carry this body, and the handler may change its copy.
      body: (job.untracked ? structuredClone(job.body) : job.body) as JsonOf<Body>,
      dueAt: new Date(job.dueAt),
      attempt: job.attempt,
      key: job.key,
      headers: { ...job.headers },
      ...(job.schedule !== undefined && { schedule: job.schedule }),
      ...(job.scheduledFor !== undefined && { scheduledFor: new Date(job.scheduledFor) }),
      signal,
      retryIn(duration) {
        asked = { end: "retry-in", wait: checkedWait(job, duration) };
      },
      bury(reason) {
        // JavaScript may pass an error, or nothing.
        asked = { end: "buried", error: messageOf(reason) };
      },
    };
    try {
      await runInChain(job, () => handler(view));
      return asked;
    } catch (error) {
      const described = describeThrown(error);
      const end = isRunaway(error) ? "buried" : "failed";
      return { end, error: errorTextOf(error, described), thrown: { value: error, described } };
    }
  };
}

/** @throws RangeError */
function checkedWait({ untracked }: MessageJob, duration: Duration): number {
  const longest = untracked ? LONGEST_UNTRACKED_WAIT : LONGEST_DELAY;
  const most = untracked ? `${longest / DAY} days for an untracked job` : "ten years";
  const instead = insteadOfMilliseconds(duration);
  const wait = parseDuration(duration);
  if (instead === undefined && wait !== undefined && wait <= longest) return wait;
  const allowed = instead ?? `seconds (0 or more) or a string such as "10m", at most ${most}`;
  throw new RangeError(`retryIn takes ${allowed}, got ${duration}`);
}

/**
 * Says whether the job's chain may file no more jobs today. Then the job is dead at once: its further attempts would cost as much as the loop, and
 * those after midnight would go on with it.
 */
function isRunaway(error: unknown): boolean {
  return error instanceof MinutehandError && error.code === "runaway-chain";
}
