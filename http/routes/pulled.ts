import * as z from "zod/mini";
import type { Home } from "../../core/items.ts";
import type { Context } from "../../protocol/ports.ts";
import { extend, settlePulled } from "../../protocol/run/settle-pulled.ts";
import { settledJob } from "../answers.ts";
import { topic } from "../fields.ts";
import { iso } from "../instants.ts";
import { jobJson } from "../job-json.ts";
import { burying, extending, finishing, retrying } from "../requests.ts";
import { type Answer, route } from "../route.ts";

const shared = {
  method: "POST",
  params: z.strictObject({ topic }),
  answers: { 200: settledJob },
} as const;

const problems = ["unknown-topic", "not-a-pull-topic", "job-not-found", "claim-lost"] as const;

/** Answers the pulled job, or an empty object for an untracked job, whose run is not recorded in the table. */
function settled(ctx: Context, home: Home | undefined): Answer {
  return { status: 200, body: home ? jobJson(ctx, home) : {} };
}

/** The caller's error text in a form that DynamoDB can store, or a default if the caller gave none. */
function said(error: string | undefined, otherwise: string): string {
  return error === undefined || error === "" ? otherwise : error.toWellFormed();
}

export const pulledRoutes = [
  route({
    ...shared,
    path: "/topics/{topic}/finish",
    operationId: "finish",
    summary: "Records a pulled job as done. Idempotent: a repeat with the same receipt answers the job.",
    body: finishing,
    problems,
    async handle({ ctx, params, body: { receipt } }) {
      return settled(ctx, await settlePulled(ctx, params.topic, receipt, { end: "done" }));
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
    async handle({ ctx, params, body: { receipt, seconds } }) {
      const { home, leaseUntil } = await extend(ctx, params.topic, receipt, seconds * 1000);
      return { status: 200, body: { ...(home ? jobJson(ctx, home) : {}), leaseUntil: iso(leaseUntil) } };
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
    async handle({ ctx, params, body: { receipt, delay, error } }) {
      const ending = {
        end: "failed",
        error: said(error, "its consumer asked for a retry"),
        verb: "retry",
        ...(delay === undefined ? {} : { retryAfter: delay }),
      } as const;
      return settled(ctx, await settlePulled(ctx, params.topic, receipt, ending));
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
    async handle({ ctx, params, body: { receipt, error } }) {
      const ending = { end: "buried", error: said(error, "buried by its consumer"), verb: "bury" } as const;
      return settled(ctx, await settlePulled(ctx, params.topic, receipt, ending));
    },
  }),
];
