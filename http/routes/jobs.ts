import * as z from "zod/mini";
import { bodyText } from "../../core/body-text.ts";
import { cancel } from "../../protocol/change/cancel.ts";
import { reschedule } from "../../protocol/change/reschedule.ts";
import { enqueue } from "../../protocol/file/enqueue.ts";
import { readJob } from "../../protocol/store/read-job.ts";
import { job } from "../answers.ts";
import { idempotencyKey, jobId } from "../fields.ts";
import { FILED_HEADERS, filed } from "../filed.ts";
import { jobJson } from "../job-json.ts";
import { logUrlOf } from "../log-url.ts";
import { callMarkOf, newJobOf, onceOf, requestedDueAt } from "../new-job.ts";
import { changes, newJob } from "../requests.ts";
import { route } from "../route.ts";

export const idempotent = z.object({ "idempotency-key": z.exactOptional(idempotencyKey) });

const params = z.strictObject({ id: jobId });

export const jobRoutes = [
  route({
    method: "POST",
    path: "/jobs",
    operationId: "enqueue",
    summary:
      "Files a job. Answers 201 for a new job. If the key has a live job, `onDuplicate` decides: with `keep`, `replace` or `postpone` the answer is 200, with `reject` (the default) 409 `job-already-exists`. Idempotent with an Idempotency-Key: a repeat files no second job, except in an untracked topic, which stores no Idempotency-Key.",
    headers: idempotent,
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
    ],
    async handle({ ctx, body, ...call }) {
      return filed(ctx, await enqueue(ctx, { ...newJobOf(ctx, body), ...onceOf(call) }));
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{id}",
    operationId: "getJob",
    summary: "Reads a job.",
    params,
    answers: { 200: job },
    problems: ["job-not-found"],
    async handle({ ctx, logs, params }) {
      const home = await readJob(ctx, params.id);
      return { status: 200, body: { ...jobJson(ctx, home), ...logUrlOf(logs, home) } };
    },
  }),
  route({
    method: "PATCH",
    path: "/jobs/{id}",
    operationId: "reschedule",
    summary:
      "Changes the due time of a waiting job, its body, or both. The job gets all of its attempts again. Idempotent with an Idempotency-Key: a repeat changes nothing and answers the job as it stands.",
    params,
    headers: idempotent,
    body: changes,
    answers: { 200: job },
    problems: ["untracked-topic", "job-not-found", "job-running", "job-finished", "idempotency-mismatch"],
    async handle({ ctx, params, body: { delay, dueAt, body }, ...sent }) {
      const time = requestedDueAt(ctx.clock(), { delay, dueAt });
      const change = {
        ...(time === undefined ? {} : { dueAt: time }),
        ...(body === undefined ? {} : { body: bodyText(body) }),
        ...callMarkOf(sent),
      };
      return { status: 200, body: jobJson(ctx, await reschedule(ctx, params.id, change)) };
    },
  }),
  route({
    method: "DELETE",
    path: "/jobs/{id}",
    operationId: "cancel",
    summary:
      "Cancels a job. Idempotent: cancelling a cancelled job answers 200. A cancel comes too late when a consumer has claimed the job (409 `job-running`).",
    params,
    answers: { 200: job },
    problems: ["untracked-topic", "job-not-found", "job-running", "job-finished"],
    async handle({ ctx, params }) {
      return { status: 200, body: jobJson(ctx, await cancel(ctx, params.id)) };
    },
  }),
];
