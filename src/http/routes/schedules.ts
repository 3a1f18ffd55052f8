import * as z from "zod/mini";
import { listSchedules } from "../../protocol/file/find-schedule.ts";
import {
  type NewSchedule,
  type Paused,
  pauseSchedule,
  putSchedule,
  readSchedule,
  removeSchedule,
  runSchedule,
} from "../../protocol/file/recurring.ts";
import { requireTopic } from "../../protocol/policy.ts";
import type { Context } from "../../protocol/ports.ts";
import { job } from "../answers/jobs.ts";
import { schedule, schedulePage } from "../answers/schedules.ts";
import { decodeScheduleCursor, encodeScheduleCursor, tie, untie } from "../cursors.ts";
import { digits, scheduleName } from "../fields.ts";
import { FILED_HEADERS, filed } from "../job-json.ts";
import { hashOf, newJobOf } from "../new-job.ts";
import { idempotent } from "../parameters.ts";
import { type NewScheduleFields, newSchedule, pausing, running } from "../requests.ts";
import { type Answer, route } from "../route.ts";
import { scheduleJsonOf, scheduleSummaryOf } from "../schedule-json.ts";

/** The size of a page of EventBridge Scheduler's ListSchedules. */
const PAGE = 100;
const SECOND = 1000;

const params = z.strictObject({ name: scheduleName });

/** What all routes share that answer one existing schedule. */
const ofOne = { params, answers: { 200: schedule }, problems: ["schedule-not-found"] } as const;

/** Throws like an enqueue of its job: `unknown-topic`, `bad-request`, `too-large`. */
function scheduleOf(ctx: Context, name: string, fields: NewScheduleFields): NewSchedule {
  const { expression, timezone, start, end, flexibleWindow, ...rest } = fields;
  requireTopic(ctx, rest.topic);
  const { dueAt: _, refusal, ...template } = newJobOf(ctx, { ...rest, dueAt: ctx.clock() });
  if (refusal) throw refusal;
  return {
    name,
    expression,
    timezone,
    // EventBridge Scheduler accepts only whole seconds.
    ...(start === undefined ? {} : { start: Math.ceil(start / SECOND) * SECOND }),
    ...(end === undefined ? {} : { end: Math.floor(end / SECOND) * SECOND }),
    ...(flexibleWindow === undefined ? {} : { flexibleWindow }),
    job: template,
  };
}

async function answerWith(ctx: Context, found: Paused, status = 200): Promise<Answer> {
  return { status, body: await scheduleJsonOf(found, ctx.clock()) };
}

export const scheduleRoutes = [
  route({
    method: "GET",
    path: "/schedules",
    operationId: "listSchedules",
    summary:
      "Lists recurring schedules. A page can have fewer schedules than `limit`, or none. The list has ended when the answer has no `cursor`.",
    query: z.strictObject({
      limit: z._default(digits(1, PAGE), PAGE),
      cursor: z.exactOptional(z.string()),
    }),
    answers: { 200: schedulePage },
    problems: [],
    async handle({ ctx, query: { limit, cursor } }) {
      const token = cursor === undefined ? undefined : decodeScheduleCursor(untie(cursor, "schedules"));
      const page = await listSchedules(ctx, limit, token);
      const schedules = await Promise.all(
        page.schedules.map((found) => scheduleSummaryOf(found, ctx.clock())),
      );
      if (page.cursor === undefined) return { status: 200, body: { schedules } };
      const next = tie(encodeScheduleCursor(page.cursor), "schedules");
      return { status: 200, body: { schedules, cursor: next } };
    },
  }),
  route({
    method: "PUT",
    path: "/schedules/{name}",
    operationId: "putSchedule",
    isDecision: true,
    summary:
      "Creates or replaces a schedule, which files a job at each occurrence of a cron, rate or at expression. A replaced schedule gets all of its fields from the request; if it was paused, it stays paused. Idempotent: the same request leads to the same schedule.",
    params,
    body: newSchedule,
    answers: { 200: schedule, 201: schedule },
    answerHeaders: ["Location"],
    problems: ["unknown-topic", "untracked-topic"],
    async handle({ ctx, params: { name }, body }) {
      const put = await putSchedule(ctx, scheduleOf(ctx, name, body));
      const answer = await answerWith(ctx, put.schedule, put.outcome === "created" ? 201 : 200);
      return { ...answer, headers: { location: `/schedules/${name}` } };
    },
  }),
  route({
    ...ofOne,
    method: "GET",
    path: "/schedules/{name}",
    operationId: "getSchedule",
    summary: "Reads a schedule and its next five occurrences.",
    async handle({ ctx, params: { name } }) {
      return answerWith(ctx, await readSchedule(ctx, name));
    },
  }),
  route({
    ...ofOne,
    method: "DELETE",
    path: "/schedules/{name}",
    operationId: "deleteSchedule",
    isDecision: true,
    summary: "Deletes a schedule and answers the deleted schedule. The jobs that it has filed stay.",
    async handle({ ctx, params: { name } }) {
      return answerWith(ctx, await removeSchedule(ctx, name));
    },
  }),
  route({
    ...ofOne,
    method: "POST",
    path: "/schedules/{name}/pause",
    operationId: "pauseSchedule",
    isDecision: true,
    summary:
      "Pauses a schedule: no occurrence files a job until the schedule is resumed. A resume does not make up for the missed occurrences. Idempotent: pausing a paused schedule answers 200.",
    body: pausing,
    bodyOptional: true,
    async handle({ ctx, params: { name } }) {
      return answerWith(ctx, await pauseSchedule(ctx, name, true));
    },
  }),
  route({
    ...ofOne,
    method: "POST",
    path: "/schedules/{name}/resume",
    operationId: "resumeSchedule",
    isDecision: true,
    summary:
      "Resumes a paused schedule, beginning with its next occurrence. `skippedInPause` says how many occurrences fell into the pause: they are not made up for. Idempotent: resuming a schedule that is not paused answers 200, without this number.",
    body: pausing,
    bodyOptional: true,
    async handle({ ctx, params: { name } }) {
      return answerWith(ctx, await pauseSchedule(ctx, name, false));
    },
  }),
  route({
    method: "POST",
    path: "/schedules/{name}/run",
    operationId: "runSchedule",
    isDecision: true,
    summary:
      "Files the job of a schedule now, in addition to the occurrences. The schedule may be paused. Idempotent with an Idempotency-Key: a repeat files no second job, except in an untracked topic, which stores no Idempotency-Key.",
    params,
    headers: idempotent,
    body: running,
    bodyOptional: true,
    answers: { 201: job },
    answerHeaders: FILED_HEADERS,
    problems: [
      "schedule-not-found",
      "unknown-topic",
      "untracked-topic",
      "job-not-found",
      "idempotency-mismatch",
      "too-many-filed",
    ],
    async handle({ ctx, params: { name }, method, path, headers }) {
      const token = headers["idempotency-key"];
      const once = token === undefined ? undefined : { token, hash: hashOf(method, path) };
      return filed(ctx, await runSchedule(ctx, name, once));
    },
  }),
];
