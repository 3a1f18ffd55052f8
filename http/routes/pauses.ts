import * as z from "zod/mini";
import { pauseTopic } from "../../protocol/change/pause.ts";
import { resume } from "../../protocol/hand-over/release.ts";
import { requireTopic } from "../../protocol/policy.ts";
import { paused, resumed } from "../answers.ts";
import { topic } from "../fields.ts";
import { iso } from "../instants.ts";
import { pausing, resuming } from "../requests.ts";
import { route } from "../route.ts";

const shared = {
  method: "POST",
  params: z.strictObject({ topic }),
  bodyOptional: true,
  problems: ["unknown-topic"],
} as const;

export const pauseRoutes = [
  route({
    ...shared,
    path: "/topics/{topic}/pause",
    operationId: "pauseTopic",
    isDecision: true,
    summary:
      "Pauses a topic: from 5 seconds after the answer, no job of the topic starts until the topic is resumed. An untracked topic with a Lambda consumer differs: jobs that SQS already has start for up to two minutes more, or four minutes if the topic was resumed just before. Runs that have begun go on. Jobs can still be filed, moved and cancelled. Idempotent: pausing a paused topic answers 200.",
    body: pausing,
    answers: { 200: paused },
    async handle({ ctx, params: { topic } }) {
      requireTopic(ctx, topic);
      const { since } = await pauseTopic(ctx, topic);
      return { status: 200, body: { topic, state: "paused", since: iso(since) } };
    },
  }),
  route({
    ...shared,
    path: "/topics/{topic}/resume",
    operationId: "resumeTopic",
    isDecision: true,
    summary:
      "Resumes a paused topic. The jobs that became due during the pause start: at most `ratePerSecond` in a second or, without a rate, all at once. The next ticks release those that are `left`. Idempotent: resuming a topic that is not paused answers 200.",
    body: resuming,
    answers: { 200: resumed },
    async handle({ ctx, params: { topic }, body: { ratePerSecond } }) {
      requireTopic(ctx, topic);
      return { status: 200, body: { topic, ...(await resume(ctx, topic, ratePerSecond)) } };
    },
  }),
];
