import { Argument, type Command } from "commander";
import type { Dismissed } from "../../client/client.ts";
import { BATCH_JOBS } from "../../core/constants.ts";
import { chunksOf } from "../../general/batches.ts";
import { deadJobIds, REASON } from "../arguments.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { counted, many } from "../columns.ts";
import { examples } from "../examples.ts";
import { changeMany } from "../many.ts";
import {
  addFilters,
  addSeen,
  type Caution,
  DIED,
  type Filters,
  filtersOf,
  onlyForOne,
  type Seen,
  seenAs,
} from "../selection.ts";
import type { Open, Session } from "../session.ts";

type Flags = Filters & Caution & Seen & { all?: true; reason?: string };

export function addDismiss(program: Command, open: Open): void {
  const command = program
    .command("dismiss")
    .description(
      "cancel dead jobs, so that their alarm ends: the given ids, all that match the filters, or --all",
    )
    .argument("<topic>")
    .addArgument(new Argument("[ids...]").argParser(deadJobIds))
    .option("--all", "all jobs of the topic that died in the last 366 days")
    .option(...REASON);
  addFilters(addSeen(command), DIED).action(
    async (topic: string, ids: string[], { all, reason, ifMatch, ...rest }: Flags) => {
      const session = open();
      const { tag, group, from, to } = rest;
      const isFiltered = [tag, group, from, to].some((filter) => filter !== undefined);
      // A command that continues an interrupted one has its range too.
      const isAll = all === true && (!isFiltered || rest.cursor === undefined);
      const ways = [ids.length > 0, isAll, isFiltered].filter(Boolean);
      if (ways.length !== 1 || (ids.length > 0 && Object.keys(rest).length > 0)) {
        throw new UsageError("name the dead jobs in one way: give ids, or --all, or filters");
      }
      if (ifMatch !== undefined && ids.length !== 1) throw onlyForOne("--if-match");
      if (ids.length > 0) return dismissEach(session, topic, [...new Set(ids)], { reason, ifMatch });
      return changeMany(session, { action: "dismiss", topic, ...filtersOf(rest), reason }, rest);
    },
  );
  examples(command, [
    "minutehand dismiss order-timeout 01KJMF8S00G00000000000000A --reason 'no such order'",
    "minutehand dismiss order-timeout --all --dry-run",
    "minutehand dismiss order-timeout --tag spring-sale --to 2026-03-01T00:00:00Z",
  ]);
}

type HowEach = { [Name in "reason" | "ifMatch"]: Flags[Name] | undefined };

/** Dismisses jobs by id, in as few calls as the API allows. Tries all, then throws `CliError` if some were not dismissed. */
async function dismissEach(
  session: Session,
  topic: string,
  ids: readonly string[],
  { reason, ifMatch }: HowEach,
): Promise<void> {
  const { output } = session;
  const api = await session.client();
  let sum: Dismissed | undefined;
  try {
    for (const some of chunksOf(ids, BATCH_JOBS)) {
      const part = await api.dismiss(topic, { ids: some, reason, ...seenAs(ids[0] ?? "", ifMatch) });
      const errors = [...(sum?.errors ?? []), ...part.errors];
      sum = { dismissed: (sum?.dismissed ?? 0) + part.dismissed, left: part.left, errors };
    }
  } finally {
    // Even if a part fails, print what the earlier parts have done.
    if (sum !== undefined) await show(session, topic, sum);
  }
  for (const { id, problem } of sum?.errors ?? []) output.note(`${id}: ${problem.detail}`);
  const refused = sum?.errors.length ?? 0;
  if (refused > 0) throw new CliError(`${refused} of ${ids.length} jobs were not dismissed`);
}

function show({ output }: Session, topic: string, done: Dismissed): Promise<void> {
  return output.told(done, `dismissed ${many(done.dismissed)} of ${topic}; ${counted(done.left)} left`);
}
