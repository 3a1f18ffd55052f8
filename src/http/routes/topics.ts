import { iso } from "../../general/times.ts";
import { requireTopic } from "../../protocol/policy.ts";
import { reportTopics, type TopicReport } from "../../protocol/read/topics.ts";
import type { Troubles } from "../../protocol/read/troubled-jobs.ts";
import { type TopicPolicy, webhookPolicy } from "../../settings/policy.ts";
import { type TopicJson, topicReport, topicReports } from "../answers/topics.ts";
import { topicPath } from "../parameters.ts";
import { route } from "../route.ts";

function topicJson(now: number, report: TopicReport): TopicJson {
  const { topic, policy, queue, dead, sweepLag, pause, sampledSince, ...troubles } = report;
  const { ready, delayed, inFlight } = queue;
  const { backoff, webhook, ...settings } = policy;
  const waits = "waits" in backoff ? { waits: [...backoff.waits] } : backoff;
  return {
    topic,
    policy: {
      ...settings,
      backoff: waits,
      ...(webhook === undefined ? {} : { webhook: webhookJson(policy) }),
    },
    depths: { ready, delayed, inFlight, dead },
    sweepLag: sweepLag / 1000,
    ...(pause === undefined ? {} : { pause: { ...pause, since: iso(pause.since) } }),
    ...troublesJson(troubles),
    ...(sampledSince !== undefined && { sampledSince: iso(sampledSince) }),
    at: iso(now),
  };
}

function troublesJson({ late, retrying }: Troubles): Pick<TopicJson, "late" | "retrying"> {
  const { since, ...lateCount } = late;
  const { next, failedAt, ...retries } = retrying;
  return {
    late: { ...lateCount, ...(since !== undefined && { since: iso(since) }) },
    retrying: {
      ...retries,
      ...(failedAt !== undefined && { failedAt: iso(failedAt) }),
      ...(next !== undefined && { next: iso(next) }),
    },
  };
}

/** The webhook of a topic, with defaults for what is not configured. */
function webhookJson(policy: TopicPolicy): NonNullable<TopicJson["policy"]["webhook"]> {
  const { allowHosts, onlyHosts, ports, mostAttempts = policy.maxAttempts, ...same } = webhookPolicy(policy);
  const lists = {
    allowHosts: [...allowHosts],
    ports: [...ports],
    ...(onlyHosts && { onlyHosts: [...onlyHosts] }),
  };
  return { ...same, ...lists, mostAttempts };
}

export const topicRoutes = [
  route({
    method: "GET",
    path: "/topics",
    operationId: "listTopics",
    summary:
      "Lists all topics, each with its policy, depths, sweep lag, late jobs and jobs that wait for a retry. The depths are approximate: SQS counts them.",
    answers: { 200: topicReports },
    problems: [],
    async handle({ ctx }) {
      const reports = await reportTopics(ctx, Object.keys(ctx.policy.topics));
      const now = ctx.clock();
      return { status: 200, body: { topics: reports.map((report) => topicJson(now, report)) } };
    },
  }),
  route({
    method: "GET",
    path: "/topics/{topic}",
    operationId: "getTopic",
    summary:
      "Reads one topic with its policy, depths, sweep lag, late jobs and jobs that wait for a retry. The depths are approximate: SQS counts them.",
    params: topicPath,
    answers: { 200: topicReport },
    problems: ["unknown-topic"],
    async handle({ ctx, params }) {
      requireTopic(ctx, params.topic);
      const [report] = await reportTopics(ctx, [params.topic]);
      return { status: 200, body: report && topicJson(ctx.clock(), report) };
    },
  }),
];
