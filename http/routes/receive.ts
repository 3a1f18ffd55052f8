import * as z from "zod/mini";
import { receive } from "../../protocol/run/pull.ts";
import { pulledJobs } from "../answers.ts";
import { topic } from "../fields.ts";
import { iso } from "../instants.ts";
import { receiving } from "../requests.ts";
import { route } from "../route.ts";

/** A separate Lambda function serves `receive`, so that long polls do not starve the other calls. */
export const receiveRoute = route({
  method: "POST",
  path: "/topics/{topic}/receive",
  operationId: "receive",
  summary:
    "Claims up to `max` due jobs of a pull topic and answers them. Waits for the first job for up to `waitSeconds`. Not idempotent: a repeat claims other jobs.",
  params: z.strictObject({ topic }),
  body: receiving,
  bodyOptional: true,
  answers: { 200: pulledJobs },
  problems: ["unknown-topic", "not-a-pull-topic"],
  async handle({ service, ctx, params, body, signal }) {
    const pulled = await receive(ctx, params.topic, { ...body, ...(signal && { signal }) }, service.timers);
    const jobs = pulled.map(({ dueAt, leaseUntil, ...same }) => {
      return { ...same, dueAt: iso(dueAt), leaseUntil: iso(leaseUntil) };
    });
    return { status: 200, body: { jobs } };
  },
});
