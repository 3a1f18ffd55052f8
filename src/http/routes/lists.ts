import * as z from "zod/mini";
import { DAY, LIST_JOBS, LONGEST_LIST, PAGE_JOBS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import type { Position } from "../../core/position.ts";
import { iso } from "../../general/times.ts";
import { requireTopic } from "../../protocol/policy.ts";
import { forecast } from "../../protocol/read/forecast.ts";
import { listJobs } from "../../protocol/read/list.ts";
import { forecast as forecastAnswer, jobPage, STATES } from "../answers.ts";
import { decodeListCursor, encodeListCursor, tie, untie } from "../cursors.ts";
import { digits, topic } from "../fields.ts";
import { bound } from "../instants.ts";
import { summaryOf } from "../job-json.ts";
import { filters } from "../job-options.ts";
import { rangeOf } from "../range.ts";
import { route } from "../route.ts";

const range = {
  topic: z.exactOptional(topic),
  from: z.exactOptional(bound),
  to: z.exactOptional(bound),
};

const listQuery = z.strictObject({
  ...range,
  state: z.exactOptional(z.enum(STATES)),
  ...filters,
  limit: z._default(digits(1, LIST_JOBS), PAGE_JOBS),
  cursor: z.exactOptional(z.string()),
});

/** A later page keeps the range of the first one. Throws `bad-request`. */
function placeOf(
  now: number,
  { from, to, cursor, topic, state, tag, group }: z.output<typeof listQuery>,
): { from: number; to: number; cursor?: Position } {
  const asked = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  if (cursor === undefined) return rangeOf(now, asked);
  const at = decodeListCursor(untie(cursor, topic, state, tag, group));
  if ((from ?? at.from) !== at.from || (to ?? at.to) !== at.to) {
    const range = `${iso(at.from)} to ${iso(at.to)}`;
    throw new MinutehandError(
      "bad-request",
      `cursor must be used with the from and to of its first page: ${range}`,
    );
  }
  return { ...rangeOf(now, at), cursor: at.place };
}

export const listRoutes = [
  route({
    method: "GET",
    path: "/jobs",
    operationId: "listJobs",
    summary: `Lists the jobs with \`from ≤ dueAt < to\`, in the order of \`dueAt\`. \`from\` is now by default, and \`to\` is an hour after \`from\`. The range has at most ${LONGEST_LIST / DAY} days. A page can have fewer jobs than \`limit\`, or none. The list has ended when the answer has no \`cursor\`.`,
    query: listQuery,
    answers: { 200: jobPage },
    problems: ["unknown-topic"],
    async handle({ ctx, query }) {
      if (query.topic !== undefined) requireTopic(ctx, query.topic);
      const place = placeOf(ctx.clock(), query);
      const { cursor: _, ...asked } = query;
      const { homes, cursor } = await listJobs(ctx, { ...asked, ...place });
      const jobs = homes.map((home) => summaryOf(ctx, home));
      if (cursor === undefined) return { status: 200, body: { jobs } };
      const { topic, state, tag, group } = query;
      const next = tie(encodeListCursor({ ...place, place: cursor }), topic, state, tag, group);
      return { status: 200, body: { jobs, cursor: next } };
    },
  }),
  route({
    method: "GET",
    path: "/forecast",
    operationId: "forecast",
    summary: `Counts the unfinished jobs that fall due in each minute of a range. Minutes without a job are left out. \`from\` is now by default, and \`to\` is an hour after \`from\`. The range has at most ${LONGEST_LIST / DAY} days.`,
    query: z.strictObject(range),
    answers: { 200: forecastAnswer },
    problems: ["unknown-topic"],
    async handle({ ctx, query }) {
      if (query.topic !== undefined) requireTopic(ctx, query.topic);
      const { minutes, next } = await forecast(ctx, { ...query, ...rangeOf(ctx.clock(), query) });
      const counts = minutes.map(({ minute, count }) => ({ minute: iso(minute), count }));
      return { status: 200, body: { minutes: counts, ...(next === undefined ? {} : { next: iso(next) }) } };
    },
  }),
];
