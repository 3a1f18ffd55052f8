import { LONGEST_LEASE, RECEIVE_JOBS, RECEIVE_WAIT_SECONDS } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { describeThrown } from "../core/thrown.ts";
import { errorTextOf } from "../environment/thrown-text.ts";
import { isLoggedError, traceLines } from "../general/stack-trace.ts";
import { type Names, unknownNames } from "../general/unknown-names.ts";
import type { PulledJob } from "./answers.ts";
import type { Client } from "./client.ts";
import type { DirectWorker } from "./direct-worker.ts";

export type PullOptions = {
  /** Stops the worker: it receives no more jobs, waits for those that it has, and then `pull` resolves. */
  stop: AbortSignal;
  /** How many jobs run at once, a whole number; 1 by default. */
  concurrency?: number;
  /** Every how many seconds a lease is extended, at most 14,400; 10 by default. It must be well below the topic's `ttr`. */
  extendEvery?: number;
  /**
   * Gets each error after which the worker goes on: what `run` has thrown, with its `job`, and `unavailable` or `claim-lost` of a call. By
   * default it is written to stderr, with the stack of what `run` has thrown.
   */
  onError?: (error: unknown, job?: PulledJob<unknown>) => void;
};
const OPTIONS: Names<PullOptions> = { stop: true, concurrency: true, extendEvery: true, onError: true };

type Worker<T> = Client<T> | DirectWorker<T>;
/** `lost` is aborted when the job is no longer this worker's. */
type Run<Body> = (job: PulledJob<Body>, lost: AbortSignal) => unknown;

const EXTEND_EVERY = 10;
/** A lease is extended to three times `extendEvery`, so that one lost call does not end it, and to this many seconds at least. */
const LEAST_LEASE = 30;
const MOST_BETWEEN = LONGEST_LEASE / 1000 / 3;
/** The wait after a failed call, ms. */
const PAUSE = 1000;

/**
 * Runs the jobs of a pull topic in this process, until `stop` is aborted. Waits for due jobs with long polling, extends the lease of a job
 * while `run` works, and then finishes the job. If `run` throws, the job is retried by the topic's backoff, and its `lastError` has the message
 * of the error with the place in your code. If an `extend` fails, `lost` is aborted with its error, because another worker may get the job.
 *
 * Goes on a second after a call has failed with `unavailable`, or with `claim-lost` because the lease has ended. Any other error stops the
 * worker as `stop` does, and is then thrown. Throws a `RangeError` for an unknown option or a value out of its range.
 *
 * @example
 * const stop = new AbortController();
 * process.once("SIGTERM", () => stop.abort());
 * await pull(client, "emails", ({ body }) => send(body), { stop: stop.signal, concurrency: 10 });
 */
export async function pull<T, N extends keyof T & string>(
  queue: Worker<T>,
  topic: N,
  run: Run<T[N]>,
  options: PullOptions,
): Promise<void> {
  const checkedOptions = checked(topic, options);
  const { stop, concurrency, onError } = checkedOptions;
  const running = new Set<Promise<void>>();
  const failed = new AbortController();
  const goOnAfter = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!isPassing(error)) return failed.abort(error);
      onError(error);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  };
  const receive = async (): Promise<void> => {
    const max = Math.min(concurrency - running.size, RECEIVE_JOBS);
    // This call does not get `stop`: an aborted `receive` may have claimed a job.
    const jobs = await queue.receive(topic, { max, waitSeconds: RECEIVE_WAIT_SECONDS });
    // The test kit's `receive` does not wait. Without a pause, no timer of the process would ever fire.
    if (jobs.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (const job of jobs) {
      const ended = goOnAfter(() => runJob(queue, topic, job, run, checkedOptions)).finally(() =>
        running.delete(ended),
      );
      running.add(ended);
    }
  };
  while (!(stop.aborted || failed.signal.aborted)) {
    if (running.size < concurrency) await goOnAfter(receive);
    else await Promise.race(running);
  }
  await Promise.all(running);
  failed.signal.throwIfAborted();
}

/** Runs a job and settles it. Throws what the last call throws. */
async function runJob<T, N extends keyof T & string>(
  queue: Worker<T>,
  topic: N,
  job: PulledJob<T[N]>,
  run: Run<T[N]>,
  { extendEvery, onError }: Required<PullOptions>,
): Promise<void> {
  const lost = new AbortController();
  const seconds = Math.max(LEAST_LEASE, Math.ceil(3 * extendEvery));
  const extend = () => queue.extend(topic, job.receipt, seconds).catch((error) => lost.abort(error));
  const timer = setInterval(extend, extendEvery * 1000);
  const failure = await failureOf(() => run(job, lost.signal));
  clearInterval(timer);
  if (failure === undefined) {
    await queue.finish(topic, job.receipt);
    return;
  }
  // A run without its claim fails because it was told to end.
  if (!lost.signal.aborted) onError(failure.thrown, job);
  await queue.retry(topic, job.receipt, { error: errorTextOf(failure.thrown) });
}

/** `undefined`: the work was done. */
async function failureOf(work: () => unknown): Promise<{ thrown: unknown } | undefined> {
  try {
    await work();
    return undefined;
  } catch (thrown) {
    return { thrown };
  }
}

/** The API was away, or the lease has ended. Other errors need a person. */
function isPassing(error: unknown): error is MinutehandError {
  return error instanceof MinutehandError && /^(unavailable|claim-lost)$/.test(error.code);
}

function writeError(topic: string, error: unknown, job: PulledJob<unknown> | undefined): void {
  if (job === undefined) console.error(`${topic}: ${messageOf(error)}`);
  else console.error(`${topic}: job ${job.id}, attempt ${job.attempt}: ${traceOf(error)}`);
}

/** The message with the frames of the worker's own code, as `minutehand local` writes them. */
function traceOf(error: unknown): string {
  const thrown = describeThrown(error);
  return isLoggedError(thrown) ? traceLines(thrown, process.cwd()).join("\n") : thrown.message;
}

function checked(topic: string, options: PullOptions): Required<PullOptions> {
  const [unknown] = unknownNames("pull", "option", options, Object.keys(OPTIONS));
  if (unknown !== undefined) throw new RangeError(unknown);
  const { stop, concurrency = 1, extendEvery = EXTEND_EVERY } = options;
  const { onError = (error, job) => writeError(topic, error, job) } = options;
  if (!(Number.isInteger(concurrency) && concurrency >= 1))
    throw new RangeError(`concurrency must be a whole number, 1 or more, got ${concurrency}`);
  if (!(extendEvery > 0 && extendEvery <= MOST_BETWEEN))
    throw new RangeError(
      `extendEvery must be a number of seconds, more than 0 and at most ${MOST_BETWEEN}, got ${extendEvery}`,
    );
  return { stop, concurrency, extendEvery, onError };
}
