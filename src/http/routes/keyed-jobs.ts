import { job } from "../answers/jobs.ts";
import { cancelJobByKey, getJobByKey, putJob } from "../calls/jobs.ts";
import { etagOf } from "../etag.ts";
import { FILED_HEADERS, filed } from "../job-json.ts";
import { conditional, filingConditional, keyPath, reasoned } from "../parameters.ts";
import { keyedJob } from "../requests.ts";
import { route } from "../route.ts";

const path = "/topics/{topic}/jobs/{key}";

export const keyedJobRoutes = [
  route({
    method: "PUT",
    path,
    operationId: "putJobByKey",
    summary:
      "Files a job under a key. If the key has a live job, the request replaces all fields of that job: a field that the request leaves out gets its default. Idempotent with an Idempotency-Key.",
    params: keyPath,
    query: reasoned,
    headers: filingConditional,
    body: keyedJob,
    answers: { 200: job, 201: job },
    answerHeaders: FILED_HEADERS,
    problems: [
      "unknown-topic",
      "untracked-topic",
      "job-not-found",
      "job-running",
      "changed-meanwhile",
      "idempotency-mismatch",
      "runaway-chain",
      "too-many-filed",
    ],
    async handle({ ctx, params, body, ...sent }) {
      return filed(ctx, await putJob(ctx, params, body, sent, sent.headers["if-match"]));
    },
  }),
  route({
    method: "GET",
    path,
    operationId: "getJobByKey",
    summary:
      "Reads the job that a key names. After that job has ended, the key still leads to it until its retention is over or another call takes the key.",
    params: keyPath,
    answers: { 200: job },
    answerHeaders: ["ETag"],
    problems: ["unknown-topic", "untracked-topic", "job-not-found"],
    async handle({ ctx, logs, path, params }) {
      const body = await getJobByKey(ctx, params, logs());
      return { status: 200, body, headers: { etag: etagOf(path, body) } };
    },
  }),
  route({
    method: "DELETE",
    path,
    operationId: "cancelByKey",
    summary:
      "Cancels the job that a key names. Idempotent: cancelling a cancelled job answers 200. If another job has taken the key, a repeat cancels that job.",
    params: keyPath,
    query: reasoned,
    headers: conditional,
    answers: { 200: job },
    problems: [
      "unknown-topic",
      "untracked-topic",
      "job-not-found",
      "job-running",
      "job-finished",
      "changed-meanwhile",
    ],
    async handle({ ctx, params, headers }) {
      return { status: 200, body: await cancelJobByKey(ctx, params, headers["if-match"]) };
    },
  }),
];
