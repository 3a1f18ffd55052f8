import { BATCH_JOBS } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { toJson } from "../../core/json.ts";
import { truncate } from "../../general/text.ts";
import { cancelMany } from "../../protocol/change/cancel.ts";
import { enqueueMany } from "../../protocol/file/enqueue.ts";
import type { NewJob } from "../../protocol/new-job.ts";
import { batchResults, cancelResults } from "../answers.ts";
import { jobId } from "../fields.ts";
import { summaryOf } from "../job-json.ts";
import { hashOf, newJobOf, statusOf } from "../new-job.ts";
import { problemOf } from "../problem.ts";
import { validate } from "../read-call.ts";
import { jobIds, newJob, newJobs } from "../requests.ts";
import { route, type Service } from "../route.ts";
import { idempotent } from "./jobs.ts";

/** Answers what `work` answers, or the `MinutehandError` that it throws. Throws any other error. */
function attempt<T>(work: () => T): T | MinutehandError {
  try {
    return work();
  } catch (error) {
    if (error instanceof MinutehandError) return error;
    throw error;
  }
}

function checkCount(name: string, count: number): void {
  if (count <= BATCH_JOBS) return;
  throw new MinutehandError("too-many-jobs", `${name} must have at most ${BATCH_JOBS} entries, got ${count}`);
}

/** Logs each different error once, because in an outage all entries have the same error. */
function logTrouble(log: Service["log"], results: readonly unknown[]): void {
  const troubles = results.filter(
    (result) => result instanceof MinutehandError && result.code === "unavailable",
  );
  for (const error of new Set(troubles.map(messageOf)))
    log.warn("jobs of a batch were not served", { error });
}

/** Calls `work` once with all valid entries. Answers a result or an error for each entry, in the order of the request. */
async function each<T, R>(
  wanted: readonly (T | MinutehandError)[],
  work: (these: readonly T[]) => Promise<(R | MinutehandError)[]>,
): Promise<(R | MinutehandError)[]> {
  const valid = wanted.filter((one): one is T => !(one instanceof MinutehandError));
  const results = valid.length === 0 ? [] : await work(valid);
  let next = 0;
  return wanted.map((one) =>
    one instanceof MinutehandError ? one : (results[next++] as R | MinutehandError),
  );
}

export const manyJobRoutes = [
  route({
    method: "POST",
    path: "/jobs/batch",
    operationId: "enqueueMany",
    summary: `Files up to ${BATCH_JOBS} jobs. Each job succeeds or fails on its own. The results have the order of the request. Idempotent with an Idempotency-Key: a repeat files no job twice, except in an untracked topic, which stores no Idempotency-Key.`,
    headers: idempotent,
    body: newJobs,
    answers: { 200: batchResults },
    problems: ["too-many-jobs"],
    async handle({ service, ctx, method, path, headers, body: { jobs } }) {
      checkCount("jobs", jobs.length);
      const token = headers["idempotency-key"];
      const wanted = jobs.map((fields, i) =>
        attempt((): NewJob => {
          const wanted = newJobOf(ctx, validate(newJob, fields, "the job"));
          if (token === undefined) return wanted;
          // A token with `§` never equals a caller's own key, because such a key is printable ASCII.
          const hash = hashOf(method, path, toJson(fields));
          return {
            ...wanted,
            once: { token: `${token}§${i}`, hash, batch: { token: `${token}§batch`, at: i } },
          };
        }),
      );
      const enqueued = await each(wanted, (these) => enqueueMany(ctx, these));
      logTrouble(service.log, enqueued);
      const results = enqueued.map((result) => {
        if (result instanceof MinutehandError) return failed(result);
        return { status: statusOf(result), job: { ...summaryOf(ctx, result.home), outcome: result.outcome } };
      });
      return { status: 200, body: { results } };
    },
  }),
  route({
    method: "POST",
    path: "/jobs/cancel",
    operationId: "cancelMany",
    isDecision: true,
    summary: `Cancels up to ${BATCH_JOBS} jobs. Each cancel succeeds or fails on its own. The results have the order of the request. Idempotent: cancelling a cancelled job answers 200.`,
    body: jobIds,
    answers: { 200: cancelResults },
    problems: ["too-many-jobs"],
    async handle({ service, ctx, body: { ids } }) {
      checkCount("ids", ids.length);
      const wanted = ids.map((id) => attempt(() => validate(jobId, id, "the id")));
      const cancelled = await each(wanted, (these) => cancelMany(ctx, these));
      logTrouble(service.log, cancelled);
      const results = cancelled.map((result, i) => {
        const id = named(ids[i]);
        if (result instanceof MinutehandError) return { id, ...failed(result) };
        return { id, status: 200, job: summaryOf(ctx, result) };
      });
      return { status: 200, body: { results } };
    },
  }),
];

function failed(error: MinutehandError) {
  const problem = problemOf(error);
  return { status: problem.status, error: problem };
}

/** The beginning of the value that the caller sent as an id, so that the caller can find the entry. */
function named(id: unknown): string {
  return truncate(typeof id === "string" ? id : JSON.stringify(id), 64);
}
