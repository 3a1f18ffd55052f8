import { pulledJobs } from "../answers/pulled.ts";
import { receiveJobs } from "../calls/pulled.ts";
import { topicPath } from "../parameters.ts";
import { receiving } from "../requests.ts";
import { route } from "../route.ts";

/** This route has a function of its own, so that long polls do not starve the other calls. */
export const receiveRoute = route({
  method: "POST",
  path: "/topics/{topic}/receive",
  operationId: "receive",
  summary:
    "Claims up to `max` due jobs of a pull topic and answers them. Waits for the first job for up to `waitSeconds`. Not idempotent: a repeat claims other jobs.",
  params: topicPath,
  body: receiving,
  bodyOptional: true,
  answers: { 200: pulledJobs },
  problems: ["unknown-topic", "not-a-pull-topic"],
  async handle({ service, ctx, params, body, signal }) {
    const jobs = await receiveJobs(ctx, params.topic, body, service.timers, signal);
    return { status: 200, body: { jobs } };
  },
});
