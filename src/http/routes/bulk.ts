import { messageOf } from "../../core/errors.ts";
import { iso } from "../../general/times.ts";
import { type Bulk, beginBulk, beginRepeatableBulk } from "../../protocol/change/begin-bulk.ts";
import { runBulk } from "../../protocol/change/bulk.ts";
import { requireTracked } from "../../protocol/policy.ts";
import type { Context } from "../../protocol/ports.ts";
import { bulkPart } from "../answers/many-jobs.ts";
import { decodeBulkCursor, encodeBulkCursor, tie, untie } from "../cursors.ts";
import { callMarkOf, requestedDueAt } from "../new-job.ts";
import { idempotent, reasoned } from "../parameters.ts";
import { problemOf } from "../problem.ts";
import { bulkRangeOf } from "../range.ts";
import { type BulkFields, bulk } from "../requests.ts";
import { route } from "../route.ts";

export const bulkRoute = route({
  method: "POST",
  path: "/jobs/bulk",
  operationId: "bulk",
  isDecision: true,
  summary:
    "Changes many jobs of one topic: cancels them, moves them to another time or each by as much, runs them now, or redrives or dismisses dead ones. `from` and `to` select jobs by `dueAt`. By default they span one day that begins an hour ago, or now for `run`. For `redrive` and `dismiss` they select jobs by the time of their death, by default those that died in the last 366 days. `tag` and `group` narrow the selection. Each call does one part of the work. While the answer has a `cursor`, send the same request with that `cursor` to do the next part. A dry run counts the jobs and changes nothing.",
  query: reasoned,
  headers: idempotent,
  body: bulk,
  answers: { 200: bulkPart },
  problems: ["unknown-topic", "untracked-topic", "idempotency-mismatch"],
  async handle({ service, ctx, body, ...sent }) {
    requireTracked(ctx, body.topic, "a bulk");
    const { call } = callMarkOf(sent);
    const wanted = bulkOf(ctx, body);
    const isRepeatable = body.cursor === undefined && !body.dryRun;
    const begun = call && isRepeatable ? await beginRepeatableBulk(ctx, body.topic, call, wanted) : wanted;
    const { next, reached, errors, ...counts } = await runBulk(ctx, body, begun);
    const unserved = errors.filter(({ error }) => error.code === "unavailable");
    for (const error of new Set(unserved.map((one) => messageOf(one.error))))
      service.log.warn("jobs of a bulk were not served", { error });
    return {
      status: 200,
      body: {
        action: body.action,
        dryRun: body.dryRun,
        ...counts,
        errors: errors.map(({ id, error }) => ({ id, problem: problemOf(error) })),
        from: iso(begun.from),
        to: iso(begun.to),
        reached: iso(reached),
        ...(next === undefined ? {} : { cursor: tie(encodeBulkCursor(next), ...markOf(body)) }),
      },
    };
  },
});

/** Throws `bad-request`. */
function bulkOf(ctx: Context, fields: BulkFields): Bulk {
  const now = ctx.clock();
  if (fields.cursor !== undefined) {
    const begun = decodeBulkCursor(untie(fields.cursor, ...markOf(fields)));
    // A caller can write a cursor by hand.
    bulkRangeOf(now, fields.action, begun);
    requestedDueAt(now, { delay: undefined, dueAt: begun.nextAt });
    return begun;
  }
  const range = bulkRangeOf(now, fields.action, fields);
  if (fields.action !== "move") return beginBulk(ctx, fields.action, range);
  const { delay, dueAt } = fields;
  // A shift counts from each job's own time, so the bulk then needs no time of its own.
  const time = requestedDueAt(now, { delay, dueAt }) ?? now;
  return beginBulk(ctx, "move", range, time);
}

/** A cursor is tied to the sorted fields, because a caller may change their order. */
function markOf({ cursor: _, ...fields }: BulkFields): string[] {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${value}`)
    .sort();
}
