import { job } from "../answers/jobs.ts";
import { cancelJob, enqueueJob, getJob, rescheduleJob } from "../calls/jobs.ts";
import { etagOf } from "../etag.ts";
import { FILED_HEADERS, filed } from "../job-json.ts";
import { conditional, filing, idempotentConditional, jobPath, reasoned } from "../parameters.ts";
import { changes, newJob } from "../requests.ts";
import { route } from "../route.ts";

export const jobRoutes = [
  route({
    method: "POST",
    path: "/jobs",
    operationId: "enqueue",
    summary:
      "Files a job. Answers 201 for a new job. If the key has a live job, `onDuplicate` decides: with `keep`, `replace` or `postpone` the answer is 200, with `reject` (the default) 409 `job-already-exists`. Idempotent with an Idempotency-Key: a repeat files no second job, except in an untracked topic, which stores no Idempotency-Key.",
    query: reasoned,
    headers: filing,
    body: newJob,
    answers: { 200: job, 201: job },
    answerHeaders: FILED_HEADERS,
    problems: [
      "unknown-topic",
      "untracked-topic",
      "job-not-found",
      "job-already-exists",
      "job-running",
      "idempotency-mismatch",
      "runaway-chain",
      "too-many-filed",
    ],
    async handle({ ctx, body, ...sent }) {
      return filed(ctx, await enqueueJob(ctx, body, sent));
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{id}",
    operationId: "getJob",
    summary: "Reads a job.",
    params: jobPath,
    answers: { 200: job },
    answerHeaders: ["ETag"],
    problems: ["job-not-found"],
    async handle({ ctx, logs, path, params }) {
      const body = await getJob(ctx, params.id, logs());
      return { status: 200, body, headers: { etag: etagOf(path, body) } };
    },
  }),
  route({
    method: "PATCH",
    path: "/jobs/{id}",
    operationId: "reschedule",
    summary:
      "Changes the due time of a waiting job, its body, or both. The job gets all of its attempts again. Idempotent with an Idempotency-Key: a repeat changes nothing and answers the job as it stands.",
    params: jobPath,
    query: reasoned,
    headers: idempotentConditional,
    body: changes,
    answers: { 200: job },
    problems: [
      "untracked-topic",
      "job-not-found",
      "job-running",
      "job-finished",
      "changed-meanwhile",
      "idempotency-mismatch",
    ],
    async handle({ ctx, params, body, ...sent }) {
      const ifMatch = sent.headers["if-match"];
      return { status: 200, body: await rescheduleJob(ctx, params.id, body, sent, ifMatch) };
    },
  }),
  route({
    method: "DELETE",
    path: "/jobs/{id}",
    operationId: "cancel",
    summary:
      "Cancels a job. Idempotent: cancelling a cancelled job answers 200. A cancel comes too late when a consumer has claimed the job (409 `job-running`).",
    params: jobPath,
    query: reasoned,
    headers: conditional,
    answers: { 200: job },
    problems: ["untracked-topic", "job-not-found", "job-running", "job-finished", "changed-meanwhile"],
    async handle({ ctx, params, headers }) {
      return { status: 200, body: await cancelJob(ctx, params.id, headers["if-match"]) };
    },
  }),
];
