import * as z from "zod/mini";
import { reportTopics, requireTopic, type TopicReport } from "../../protocol/topics.ts";
import { type TopicJson, topicReport, topicReports } from "../answers.ts";
import { topic } from "../fields.ts";
import { route } from "../route.ts";

function topicJson({ topic, policy, queue, dead, sweepLag }: TopicReport): TopicJson {
  const { ready, delayed, inFlight } = queue;
  const { backoff, ...settings } = policy;
  const waits = "waits" in backoff ? { waits: [...backoff.waits] } : backoff;
  return {
    topic,
    policy: { ...settings, backoff: waits },
    depths: { ready, delayed, inFlight, dead },
    sweepLag: sweepLag / 1000,
  };
}

export const topicRoutes = [
  route({
    method: "GET",
    path: "/topics",
    operationId: "listTopics",
    summary: "All topics with their policies, depths (as SQS counts them, approximately) and sweep lag.",
    answers: { 200: topicReports },
    problems: [],
    async handle({ ctx }) {
      const reports = await reportTopics(ctx, Object.keys(ctx.policy.topics));
      return { status: 200, body: { topics: reports.map(topicJson) } };
    },
  }),
  route({
    method: "GET",
    path: "/topics/{topic}",
    operationId: "getTopic",
    summary: "One topic with its policy, depths and sweep lag.",
    params: z.strictObject({ topic }),
    answers: { 200: topicReport },
    problems: ["unknown-topic"],
    async handle({ ctx, params }) {
      requireTopic(ctx, params.topic);
      const [report] = await reportTopics(ctx, [params.topic]);
      return { status: 200, body: report && topicJson(report) };
    },
  }),
];
