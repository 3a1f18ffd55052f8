import { DAY, ERROR_BYTES, LONGEST_DELAY, LONGEST_UNTRACKED_WAIT } from "../core/constants.ts";
import { messageOf, reasonOf } from "../core/errors.ts";
import type { MessageJob } from "../core/message.ts";
import { describeThrown, type Thrown, truncateError } from "../core/thrown.ts";
import { parseDuration } from "../general/times.ts";
import type { Ending } from "../protocol/run/settle.ts";
import { ownPlaceOf } from "./own-frame.ts";
import type { RunJob } from "./run-jobs.ts";

/** A job as its handler sees it. */
export type Job<Body = unknown> = {
  readonly id: string;
  readonly topic: string;
  readonly body: Body;
  /** When the job was due. */
  readonly dueAt: Date;
  /** 1 in the first run. */
  readonly attempt: number;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted shortly before the function times out. If a handler goes on, Lambda kills it, and the run counts as a failed attempt. */
  readonly signal: AbortSignal;
  /**
   * Asks for another run, `duration` after the handler returns. `duration` is a number of seconds or a string such as `"10m"`. The
   * present run is no failure, and does not count as an attempt. `duration` is at most ten years, and for an untracked job at most 7
   * days, because only SQS stores such a job until then. Throws a `RangeError` for any other value.
   */
  retryIn(duration: number | string): void;
  /** Makes the job dead when the handler returns, whatever attempts it has left. */
  bury(reason: string): void;
};

export type JobHandler<Body> = (job: Job<Body>) => unknown;

/** Runs jobs with a handler, and says how each run ended. */
export function runWith<Body>(handler: JobHandler<Body>): RunJob {
  return async (job: MessageJob, topic: string, signal: AbortSignal) => {
    let asked: Ending = { end: "done" };
    const view: Job<Body> = {
      id: job.id,
      topic,
      // The next message and the dead letter of an untracked job carry this body. So the handler gets a copy, which it may change.
      body: (job.untracked ? structuredClone(job.body) : job.body) as Body,
      dueAt: new Date(job.dueAt),
      attempt: job.attempt,
      key: job.key,
      headers: { ...job.headers },
      signal,
      retryIn(duration) {
        const wait = parseDuration(duration);
        const longest = job.untracked ? LONGEST_UNTRACKED_WAIT : LONGEST_DELAY;
        if (wait === undefined || wait > longest) {
          const most = job.untracked ? `${longest / DAY} days for an untracked job` : "ten years";
          const allowed = `seconds (0 or more) or a string such as "10m", at most ${most}`;
          throw new RangeError(`retryIn takes ${allowed}, got ${duration}`);
        }
        asked = { end: "retry-in", wait };
      },
      bury(reason) {
        // JavaScript may pass anything here: an error, or nothing.
        asked = { end: "buried", error: messageOf(reason) };
      },
    };
    try {
      await handler(view);
      return asked;
    } catch (error) {
      const described = describeThrown(error);
      return { end: "failed", error: errorTextOf(error, described), thrown: { value: error, described } };
    }
  };
}

/**
 * The text of an error with the reason of its `cause`, because `fetch failed` alone says little, and with the place in the user's own code:
 * `fetch failed: no route (close-order.ts:12)`.
 */
function errorTextOf(error: unknown, described: Thrown): string {
  const [said, reason, place] = [messageOf(error), reasonOf(error), ownPlaceOf(described)];
  const text = said.includes(reason) ? said : `${said}: ${reason}`;
  return truncateError(place === undefined ? text : `${text} (${place})`, ERROR_BYTES);
}
