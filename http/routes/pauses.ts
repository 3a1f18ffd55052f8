import * as z from "zod/mini";
import { pause } from "../../protocol/change/pause.ts";
import { resume } from "../../protocol/hand-over/release.ts";
import { requireTopic } from "../../protocol/read/topics.ts";
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
      "Holds hand-off of a topic: no job of it starts from 5 seconds after the answer until it is resumed. Jobs are filed, moved and cancelled as ever.",
    body: pausing,
    answers: { 200: paused },
    async handle({ ctx, params: { topic } }) {
      requireTopic(ctx, topic);
      const { since } = await pause(ctx, topic);
      return { status: 200, body: { topic, state: "paused", since: iso(since) } };
    },
  }),
  route({
    ...shared,
    path: "/topics/{topic}/resume",
    operationId: "resumeTopic",
    isDecision: true,
    summary:
      "Lets a paused topic go on, and the jobs that became due meanwhile start: at most `ratePerSecond`, or at once. Those that are `left` follow with the ticks.",
    body: resuming,
    answers: { 200: resumed },
    async handle({ ctx, params: { topic }, body: { ratePerSecond } }) {
      requireTopic(ctx, topic);
      return { status: 200, body: { topic, ...(await resume(ctx, topic, ratePerSecond)) } };
    },
  }),
];
