import { BATCH_JOBS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { truncate } from "../../general/text.ts";
import { batchResults, cancelResults } from "../answers/many-jobs.ts";
import { cancelJobs, enqueueJobs } from "../calls/many-jobs.ts";
import { fitResults } from "../fit-results.ts";
import { statusOf, summaryOf } from "../job-json.ts";
import { filing, reasoned } from "../parameters.ts";
import { problemOf } from "../problem.ts";
import { jobIds, newJobs } from "../requests.ts";
import { route } from "../route.ts";

export const manyJobRoutes = [
  route({
    method: "POST",
    path: "/jobs/batch",
    operationId: "enqueueMany",
    summary: `Files up to ${BATCH_JOBS} jobs. Each job succeeds or fails on its own. The results have the order of the request. Idempotent with an Idempotency-Key: a repeat files no job twice, except in an untracked topic, which stores no Idempotency-Key.`,
    query: reasoned,
    headers: filing,
    body: newJobs,
    answers: { 200: batchResults },
    problems: ["too-many-jobs"],
    async handle({ service, ctx, body: { jobs }, ...sent }) {
      const enqueued = await enqueueJobs(service, jobs, sent);
      const results = enqueued.map((result) => {
        if (result instanceof MinutehandError) return failed(result);
        return { status: statusOf(result), job: { ...summaryOf(ctx, result.home), outcome: result.outcome } };
      });
      return { status: 200, body: { results: fitResults(results) } };
    },
  }),
  route({
    method: "POST",
    path: "/jobs/cancel",
    operationId: "cancelMany",
    isDecision: true,
    summary: `Cancels up to ${BATCH_JOBS} jobs. Each cancel succeeds or fails on its own. The results have the order of the request. Idempotent: cancelling a cancelled job answers 200.`,
    query: reasoned,
    body: jobIds,
    answers: { 200: cancelResults },
    problems: ["too-many-jobs"],
    async handle({ service, ctx, body: { ids } }) {
      const cancelled = await cancelJobs(service, ids);
      const results = cancelled.map((result, i) => {
        const id = named(ids[i]);
        if (result instanceof MinutehandError) return { id, ...failed(result) };
        return { id, status: 200, job: summaryOf(ctx, result) };
      });
      return { status: 200, body: { results: fitResults(results) } };
    },
  }),
];

function failed(error: MinutehandError) {
  const problem = problemOf(error);
  return { status: problem.status, error: problem };
}

/** The caller finds the entry by the beginning of the value that was sent as an id. */
function named(id: unknown): string {
  return truncate(typeof id === "string" ? id : JSON.stringify(id), 64);
}
