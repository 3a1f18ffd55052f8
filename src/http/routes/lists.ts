import * as z from "zod/mini";
import { DAY, LIST_JOBS, LONGEST_LIST, PAGE_JOBS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { timeOf } from "../../core/item-keys.ts";
import type { Position } from "../../core/position.ts";
import { iso } from "../../general/times.ts";
import { requireTopic } from "../../protocol/policy.ts";
import { type Forecast, forecast } from "../../protocol/read/forecast.ts";
import { listJobs } from "../../protocol/read/list.ts";
import { waitsOf } from "../../protocol/read/waits.ts";
import { type ForecastJson, forecast as forecastAnswer } from "../answers/forecast.ts";
import { jobPage, STATES } from "../answers/jobs.ts";
import { decodeListCursor, encodeListCursor, tie, untie } from "../cursors.ts";
import { digits, topic } from "../fields.ts";
import { queriedBound } from "../instants.ts";
import { summaryOf, waitJson } from "../job-json.ts";
import { filters } from "../job-options.ts";
import { rangeOf } from "../range.ts";
import { route } from "../route.ts";

const range = {
  topic: z.exactOptional(topic),
  from: z.exactOptional(queriedBound),
  to: z.exactOptional(queriedBound),
};

const listQuery = z.strictObject({
  ...range,
  state: z.exactOptional(z.enum(STATES)),
  ...filters,
  limit: z._default(digits(1, LIST_JOBS), PAGE_JOBS),
  cursor: z.exactOptional(z.string()),
});

const forecastQuery = z.strictObject({
  ...range,
  step: z.exactOptional(
    digits(1, DAY / 1000).check(
      z.meta({
        description:
          "Seconds. With it the answer has `counts`: of all jobs, by topic, state and step of time. The steps begin at 1970-01-01T00:00:00Z.",
      }),
    ),
  ),
  cursor: z.exactOptional(z.string()),
});

type Asked = { from?: number; to?: number; cursor?: string };

/** A later page keeps the range of the first one. Throws `bad-request`. */
function placeOf(
  now: number,
  { from, to, cursor }: Asked,
  tied: readonly (string | undefined)[],
): { from: number; to: number; cursor?: Position } {
  const asked = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  if (cursor === undefined) return rangeOf(now, asked);
  const at = decodeListCursor(untie(cursor, ...tied));
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
      const { cursor: _, ...asked } = query;
      const tied = [query.topic, query.state, query.tag, query.group];
      const place = placeOf(ctx.clock(), query, tied);
      const { homes, cursor } = await listJobs(ctx, { ...asked, ...place });
      const waits = await waitsOf(ctx, homes);
      const jobs = homes.map((home) => ({ ...summaryOf(ctx, home), ...waitJson(waits.get(home.id)) }));
      const page = { jobs, at: iso(ctx.clock()) };
      if (cursor === undefined) return { status: 200, body: page };
      const next = tie(encodeListCursor({ ...place, place: cursor }), ...tied);
      return { status: 200, body: { ...page, cursor: next } };
    },
  }),
  route({
    method: "GET",
    path: "/forecast",
    operationId: "forecast",
    summary: `Counts the unfinished jobs that fall due in each minute of a range, and with \`step\` all jobs by topic, state and step of time. Minutes without a job are left out. \`from\` is now by default, and \`to\` is an hour after \`from\`. The range has at most ${LONGEST_LIST / DAY} days. All its minutes are read, of all topics: at 8 shards, 31 days take 357,000 reads. A call counts as many jobs as it can in about a second. Call again with its \`cursor\`, and add up the counts, until the answer has no \`cursor\`.`,
    query: forecastQuery,
    answers: { 200: forecastAnswer },
    problems: ["unknown-topic"],
    async handle({ ctx, query }) {
      if (query.topic !== undefined) requireTopic(ctx, query.topic);
      const { cursor: _, step: seconds, ...asked } = query;
      const tied = ["forecast", query.topic, seconds?.toString()];
      const place = placeOf(ctx.clock(), query, tied);
      const step = seconds === undefined ? {} : { step: seconds * 1000 };
      const { cursor, ...counted } = await forecast(ctx, { ...asked, ...step, ...place });
      const body = { ...countedJson(counted), reached: iso(cursor ? timeOf(cursor) : place.to) };
      if (cursor === undefined) return { status: 200, body: { ...body, at: iso(ctx.clock()) } };
      const next = tie(encodeListCursor({ ...place, place: cursor }), ...tied);
      return {
        status: 200,
        body: { ...body, at: iso(ctx.clock()), next: body.reached, cursor: next },
      };
    },
  }),
];

function countedJson({ minutes, counts }: Forecast): Pick<ForecastJson, "minutes" | "counts"> {
  return {
    minutes: minutes.map(({ minute, count }) => ({ minute: iso(minute), count })),
    ...(counts && { counts: counts.map(({ from, ...cell }) => ({ from: iso(from), ...cell })) }),
  };
}
