import { runErase } from "../../protocol/change/erase.ts";
import { requireTopic } from "../../protocol/policy.ts";
import { erasePart } from "../answers/many-jobs.ts";
import { decodeTableCursor, encodeTableCursor, tie, untie } from "../cursors.ts";
import { reasoned } from "../parameters.ts";
import { problemOf } from "../problem.ts";
import { type ErasingFields, erasing } from "../requests.ts";
import { route } from "../route.ts";

export const eraseRoute = route({
  method: "POST",
  path: "/jobs/erase",
  operationId: "erase",
  isDecision: true,
  summary:
    "Deletes all jobs of a tag, a group, a topic or a beginning of keys, in any state and of any time. Jobs that wait are cancelled first. A job that runs is left and counted: repeat the call later. The call reads the whole table, part by part. While the answer has a `cursor`, send the same request with that `cursor` to do the next part. A dry run counts the jobs and changes nothing.",
  query: reasoned,
  body: erasing,
  answers: { 200: erasePart },
  problems: ["unknown-topic"],
  async handle({ ctx, body }) {
    if (body.topic !== undefined) requireTopic(ctx, body.topic);
    const { dryRun } = body;
    const after =
      body.cursor === undefined ? undefined : decodeTableCursor(untie(body.cursor, ...markOf(body)));
    const { next, errors, ...counts } = await runErase(ctx, body, after);
    return {
      status: 200,
      body: {
        dryRun,
        ...counts,
        errors: errors.map(({ id, error }) => ({ id, problem: problemOf(error) })),
        ...(next === undefined ? {} : { cursor: tie(encodeTableCursor(next), ...markOf(body)) }),
      },
    };
  },
});

function markOf({ topic, tag, group, keyPrefix, dryRun }: ErasingFields): (string | undefined)[] {
  return ["erase", topic, tag, group, keyPrefix, String(dryRun)];
}
