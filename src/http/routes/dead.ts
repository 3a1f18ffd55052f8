import * as z from "zod/mini";
import type { IfMatch } from "../../core/as-seen.ts";
import { LIST_JOBS, PAGE_JOBS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { iso } from "../../general/times.ts";
import { dismiss } from "../../protocol/change/dismiss.ts";
import { redrive } from "../../protocol/change/redrive.ts";
import { requireTracked } from "../../protocol/policy.ts";
import { deadPage } from "../../protocol/read/dead-jobs.ts";
import { jobPage } from "../answers/jobs.ts";
import { dismissed, redriven } from "../answers/many-jobs.ts";
import { decodeDeadCursor, encodeDeadCursor, tie, untie } from "../cursors.ts";
import { digits } from "../fields.ts";
import { summaryOf } from "../job-json.ts";
import { filters } from "../job-options.ts";
import { logUrlOf } from "../log-url.ts";
import { callMarkOf } from "../new-job.ts";
import { conditional, idempotentConditional, reasoned, topicPath } from "../parameters.ts";
import { problemOf } from "../problem.ts";
import { dismissing, redriving } from "../requests.ts";
import { route } from "../route.ts";

const REDRIVEN_AT_ONCE = 100;

export const deadRoutes = [
  route({
    method: "GET",
    path: "/topics/{topic}/dead",
    operationId: "listDead",
    summary:
      "Lists a topic's dead jobs with their last errors, the oldest death first. A page can have fewer jobs than `limit`, or none. The list has ended when the answer has no `cursor`.",
    params: topicPath,
    query: z.strictObject({
      ...filters,
      limit: z._default(digits(1, LIST_JOBS), PAGE_JOBS),
      cursor: z.exactOptional(z.string()),
    }),
    answers: { 200: jobPage },
    problems: ["unknown-topic", "untracked-topic"],
    async handle({ ctx, logs, params: { topic }, query: { cursor, ...query } }) {
      requireTracked(ctx, topic, "a list of dead jobs");
      const list = ["dead", topic, query.tag, query.group];
      const after = cursor === undefined ? {} : { cursor: decodeDeadCursor(untie(cursor, ...list)) };
      const { homes, cursor: last } = await deadPage(ctx, { topic, ...query, ...after });
      const found = logs();
      const jobs = homes.map((home) => ({ ...summaryOf(ctx, home), ...logUrlOf(found, home) }));
      const at = iso(ctx.clock());
      if (last === undefined) return { status: 200, body: { jobs, at } };
      return { status: 200, body: { jobs, at, cursor: tie(encodeDeadCursor(last), ...list) } };
    },
  }),
  route({
    method: "POST",
    path: "/topics/{topic}/redrive",
    operationId: "redrive",
    isDecision: true,
    summary:
      "Runs dead jobs again: those in `ids`, or else the `max` oldest ones (100 by default). Idempotent with an Idempotency-Key: a repeat selects the same jobs, redrives no job twice, and also counts the jobs that an earlier try has redriven. `If-Match` is for one id in `ids`.",
    params: topicPath,
    query: reasoned,
    headers: idempotentConditional,
    body: redriving,
    answers: { 200: redriven },
    problems: [
      "unknown-topic",
      "untracked-topic",
      "job-not-found",
      "changed-meanwhile",
      "idempotency-mismatch",
    ],
    async handle({ ctx, params, body, ...sent }) {
      requireTracked(ctx, params.topic, "a redrive");
      const seen = seenIn(sent.headers, body);
      const request = { max: REDRIVEN_AT_ONCE, delay: 0, ...body, ...callMarkOf(sent), ...seen };
      return { status: 200, body: await redrive(ctx, params.topic, request) };
    },
  }),
  route({
    method: "POST",
    path: "/topics/{topic}/dismiss",
    operationId: "dismiss",
    isDecision: true,
    summary:
      "Dismisses dead jobs, which are then cancelled: they never run, and their letters leave the DLQ. Each dismissal succeeds or fails on its own. Idempotent: dismissing a cancelled job succeeds, and changes nothing. `If-Match` is for one id in `ids`.",
    params: topicPath,
    query: reasoned,
    headers: conditional,
    body: dismissing,
    answers: { 200: dismissed },
    problems: ["unknown-topic", "untracked-topic", "changed-meanwhile"],
    async handle({ ctx, params, body, headers }) {
      requireTracked(ctx, params.topic, "a dismissal");
      const { refused, ...counts } = await dismiss(ctx, params.topic, { ...body, ...seenIn(headers, body) });
      const errors = refused.map(({ id, error }) => ({ id, problem: problemOf(error) }));
      return { status: 200, body: { ...counts, errors } };
    },
  }),
];

/** @throws `bad-request` */
function seenIn(
  { "if-match": ifMatch }: { "if-match"?: IfMatch },
  { ids }: { ids?: readonly string[] },
): { ifMatch?: IfMatch } {
  if (ifMatch === undefined) return {};
  if (ids?.length === 1) return { ifMatch };
  throw new MinutehandError("bad-request", "If-Match must be sent with exactly one id in ids");
}
