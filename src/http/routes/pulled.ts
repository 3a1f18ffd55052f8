import { settledJob } from "../answers/pulled.ts";
import { buryJob, extendLease, finishJob, retryJob } from "../calls/pulled.ts";
import { topicPath } from "../parameters.ts";
import { burying, extending, finishing, retrying } from "../requests.ts";
import { route } from "../route.ts";

const shared = {
  method: "POST",
  params: topicPath,
  answers: { 200: settledJob },
} as const;

const problems = ["unknown-topic", "not-a-pull-topic", "job-not-found", "claim-lost"] as const;

export const pulledRoutes = [
  route({
    ...shared,
    path: "/topics/{topic}/finish",
    operationId: "finish",
    summary: "Records a pulled job as done. Idempotent: a repeat with the same receipt answers the job.",
    body: finishing,
    problems,
    async handle({ ctx, params, body }) {
      return { status: 200, body: await finishJob(ctx, params.topic, body) };
    },
  }),
  route({
    ...shared,
    path: "/topics/{topic}/extend",
    operationId: "extend",
    summary:
      "Extends the lease of a pulled job. The lease then ends `seconds` from now, but at most 12 hours after the claim.",
    body: extending,
    problems,
    async handle({ ctx, params, body }) {
      return { status: 200, body: await extendLease(ctx, params.topic, body) };
    },
  }),
  route({
    ...shared,
    path: "/topics/{topic}/retry",
    operationId: "retry",
    summary:
      "Records the run of a pulled job as failed. The job runs again after `delay` or, without `delay`, by the backoff of its topic. Idempotent: a repeat with the same receipt answers the job.",
    body: retrying,
    problems,
    async handle({ ctx, params, body }) {
      return { status: 200, body: await retryJob(ctx, params.topic, body) };
    },
  }),
  route({
    ...shared,
    path: "/topics/{topic}/bury",
    operationId: "bury",
    summary:
      "Records a pulled job as dead, even if it has attempts left. Idempotent: a repeat with the same receipt answers the job.",
    body: burying,
    problems: [...problems, "untracked-topic"],
    async handle({ ctx, params, body }) {
      return { status: 200, body: await buryJob(ctx, params.topic, body) };
    },
  }),
];
