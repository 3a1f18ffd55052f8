import { iso } from "../../general/times.ts";
import { pauseTopic } from "../../protocol/change/pause.ts";
import { resume } from "../../protocol/hand-over/release.ts";
import { requireTopic, requireTracked } from "../../protocol/policy.ts";
import { paused, resumed } from "../answers/topics.ts";
import { reasoned, topicPath } from "../parameters.ts";
import { pausing, resuming } from "../requests.ts";
import { route } from "../route.ts";

const shared = {
  method: "POST",
  params: topicPath,
  bodyOptional: true,
} as const;

export const pauseRoutes = [
  route({
    ...shared,
    path: "/topics/{topic}/pause",
    operationId: "pauseTopic",
    isDecision: true,
    summary:
      "Pauses a topic: from 5 seconds after the answer, no job of the topic starts until the topic is resumed. Runs that have begun go on. Jobs can still be filed, moved and cancelled. Idempotent: pausing a paused topic answers 200.",
    query: reasoned,
    body: pausing,
    answers: { 200: paused },
    problems: ["unknown-topic", "untracked-topic"],
    async handle({ ctx, params: { topic } }) {
      requireTracked(ctx, topic, "a pause");
      const { since, by } = await pauseTopic(ctx, topic);
      return { status: 200, body: { topic, state: "paused", since: iso(since), ...(by && { by }) } };
    },
  }),
  route({
    ...shared,
    path: "/topics/{topic}/resume",
    operationId: "resumeTopic",
    isDecision: true,
    summary:
      "Resumes a paused topic. The jobs that became due during the pause start: at most `ratePerSecond` in a second or, without a rate, all at once. The next ticks release those that are `left`. Idempotent: resuming a topic that is not paused answers 200.",
    query: reasoned,
    body: resuming,
    answers: { 200: resumed },
    problems: ["unknown-topic"],
    async handle({ ctx, params: { topic }, body: { ratePerSecond } }) {
      requireTopic(ctx, topic);
      return { status: 200, body: { topic, ...(await resume(ctx, topic, ratePerSecond)) } };
    },
  }),
];
