import { homeKey } from "../../src/core/item-keys.ts";
import type { Dynamo } from "./services/dynamo.ts";
import type { Row } from "./services/expressions.ts";
import { LAMBDA_TOPICS } from "./topics.ts";
import type { World } from "./world.ts";

/** The longest TTL of looks and untracked homes, plus a day because it counts from the time that they are filed for. */
const LONGEST_TTL = 91 * 86_400_000;

export function judgeLeftovers(
  { witness, scheduler, sources, dynamo, timeline }: World,
  start: number,
): void {
  for (const name of scheduler.completed()) witness.rubbish("", `schedule ${name}`);
  const silent = LAMBDA_TOPICS.filter((topic) => !sources.polls(topic));
  for (const topic of silent) witness.rubbish("", `${topic}'s event source, disabled,`);
  for (const { id, pk } of staying(dynamo, timeline.now(), start)) witness.rubbish(id?.S ?? "", pk?.S ?? "");
}

export /** The items that TTL will not delete in time, and that no shard needs. `start`: when the history began. */
function staying(dynamo: Dynamo, now: number, start: number): Row[] {
  // The longer a job has been held, the further ahead the audit files its next look: at most by the length of the history.
  const longestLook = LONGEST_TTL + now - start;
  const longest = ({ sk }: Row): number => (sk?.S?.endsWith("#look") ? longestLook : LONGEST_TTL);
  const stays = (row: Row): boolean => !(Number(row.expiresAt?.N) * 1000 < now + longest(row));
  const left = dynamo
    .rows()
    .filter(
      (row) => stays(row) && !/^(cursor#|meta$|limited$|paused$|late$|retrying$)/.test(row.pk?.S ?? ""),
    );
  // With a retention of minutes, which no deployment can have, TTL may delete a home before the audit releases its key.
  return left.filter(({ pk, id }) => !pk?.S?.startsWith("key#") || isStored(dynamo, id?.S ?? ""));
}

function isStored(dynamo: Dynamo, id: string): boolean {
  const { pk, sk } = homeKey(id);
  return dynamo.row(pk, sk) !== undefined;
}
