import * as z from "zod/mini";
import { BULK_JOBS, PAGE_JOBS } from "../../core/constants.ts";
import type { Home } from "../../core/home.ts";
import { isUnreadable, type Unreadable, unreadableError } from "../../core/readable.ts";
import { requireTopic } from "../../protocol/policy.ts";
import type { Context } from "../../protocol/ports.ts";
import { exportJobs } from "../../protocol/read/export.ts";
import { STATES } from "../answers/jobs.ts";
import { type ExportPart, exportPart } from "../answers/many-jobs.ts";
import { decodeTableCursor, encodeTableCursor, tie, untie } from "../cursors.ts";
import { digits, topic } from "../fields.ts";
import { queriedBound } from "../instants.ts";
import { jobJson } from "../job-json.ts";
import { problemOf } from "../problem.ts";
import { route } from "../route.ts";

const query = z.strictObject({
  topic: z.exactOptional(topic),
  state: z.exactOptional(z.enum(STATES)),
  from: z.exactOptional(queriedBound),
  to: z.exactOptional(queriedBound),
  limit: z._default(digits(1, BULK_JOBS), PAGE_JOBS),
  cursor: z.exactOptional(z.string()),
});

export const exportRoute = route({
  method: "GET",
  path: "/jobs/export",
  operationId: "exportJobs",
  summary:
    "Reads all jobs, of any state and time, with their bodies, in no order. The call reads the whole table, part by part: to read the jobs of a few days, list them. A part can have fewer jobs than `limit`, or none. While the answer has a `cursor`, send the same request with that `cursor` to read the next part. Each job is in one part, as it was when it was read. A job that is filed meanwhile can be in none.",
  query,
  answers: { 200: exportPart },
  problems: ["unknown-topic"],
  async handle({ ctx, query: { cursor, ...asked } }) {
    if (asked.topic !== undefined) requireTopic(ctx, asked.topic);
    const { limit: _, ...fields } = asked;
    const tied = ["export", JSON.stringify(fields, Object.keys(fields).sort())];
    const after = cursor === undefined ? undefined : decodeTableCursor(untie(cursor, ...tied));
    const { homes, examined, next } = await exportJobs(ctx, asked, after);
    const end = next === undefined ? {} : { cursor: tie(encodeTableCursor(next), ...tied) };
    return { status: 200, body: { ...readableAmong(ctx, homes), examined, ...end } };
  },
});

function readableAmong(
  ctx: Context,
  homes: readonly (Home | Unreadable)[],
): Pick<ExportPart, "jobs" | "errors"> {
  const jobs: ExportPart["jobs"] = [];
  const errors: ExportPart["errors"] = [];
  for (const home of homes) {
    try {
      if (isUnreadable(home)) throw unreadableError(home);
      jobs.push(jobJson(ctx, home));
    } catch (error) {
      errors.push({ id: home.id, problem: problemOf(error) });
    }
  }
  return { jobs, errors };
}
