import * as z from "zod/mini";
import { cancelByKey } from "../../protocol/change/cancel.ts";
import { enqueue } from "../../protocol/file/enqueue.ts";
import { requireTracked } from "../../protocol/policy.ts";
import { idOfKey, readJob } from "../../protocol/store/read-job.ts";
import { job } from "../answers.ts";
import { key, topic } from "../fields.ts";
import { FILED_HEADERS, filed } from "../filed.ts";
import { jobJson } from "../job-json.ts";
import { logUrlOf } from "../log-url.ts";
import { newJobOf, onceOf } from "../new-job.ts";
import { keyedJob } from "../requests.ts";
import { route } from "../route.ts";
import { idempotent } from "./jobs.ts";

const path = "/topics/{topic}/jobs/{key}";
const params = z.strictObject({ topic, key });

export const keyedJobRoutes = [
  route({
    method: "PUT",
    path,
    operationId: "putJobByKey",
    summary:
      "Files a job under a key. If the key has a live job, the request replaces all fields of that job: a field that the request leaves out gets its default. Idempotent with an Idempotency-Key.",
    params,
    headers: idempotent,
    body: keyedJob,
    answers: { 200: job, 201: job },
    answerHeaders: FILED_HEADERS,
    problems: ["unknown-topic", "untracked-topic", "job-not-found", "job-running", "idempotency-mismatch"],
    async handle({ ctx, params, body, ...call }) {
      const wanted = newJobOf(ctx, { ...body, ...params, onDuplicate: "replace" });
      return filed(ctx, await enqueue(ctx, { ...wanted, ...onceOf(call) }));
    },
  }),
  route({
    method: "GET",
    path,
    operationId: "getJobByKey",
    summary:
      "Reads the job that a key names. After that job has ended, the key still leads to it until its retention is over or another call takes the key.",
    params,
    answers: { 200: job },
    problems: ["unknown-topic", "untracked-topic", "job-not-found"],
    async handle({ ctx, logs, params }) {
      requireTracked(ctx, params.topic, "a key");
      const home = await readJob(ctx, await idOfKey(ctx, params.topic, params.key));
      return { status: 200, body: { ...jobJson(ctx, home), ...logUrlOf(logs, home) } };
    },
  }),
  route({
    method: "DELETE",
    path,
    operationId: "cancelByKey",
    summary:
      "Cancels the job that a key names. Idempotent: cancelling a cancelled job answers 200. If another job has taken the key, a repeat cancels that job.",
    params,
    answers: { 200: job },
    problems: ["unknown-topic", "untracked-topic", "job-not-found", "job-running", "job-finished"],
    async handle({ ctx, params }) {
      requireTracked(ctx, params.topic, "a key");
      return { status: 200, body: jobJson(ctx, await cancelByKey(ctx, params.topic, params.key)) };
    },
  }),
];
