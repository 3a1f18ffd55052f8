import { Argument, type Command, Option } from "commander";
import type { JobSummary } from "../../client/answers.ts";
import { BATCH_JOBS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { chunksOf } from "../../general/batches.ts";
import { jobIds, REASON } from "../arguments.ts";
import { CliError } from "../cli-error.ts";
import { changedLine } from "../columns.ts";
import { examples } from "../examples.ts";
import { changeMany } from "../many.ts";
import {
  addFilters,
  addNames,
  addSeen,
  type Choice,
  chosenJobs,
  filtersOf,
  idOf,
  type OneChosen,
  refOf,
  requireOne,
  type Seen,
  seenAs,
} from "../selection.ts";
import type { Open, Session } from "../session.ts";

type Flags = Choice & Seen & { ifWaiting?: true; reason?: string | undefined };

export function addCancel(program: Command, open: Open): void {
  const command = program
    .command("cancel")
    .description("cancel jobs: by id, by key, or many jobs of a topic")
    .addArgument(new Argument("[ids...]").argParser(jobIds))
    .addOption(
      new Option(
        "--if-waiting",
        "for one job: say what became of the job, and do not fail if the call comes too late",
      ).conflicts("ifMatch"),
    )
    .option(...REASON);
  addFilters(addSeen(addNames(command))).action(async (ids: string[], flags: Flags) => {
    const { ifMatch, ifWaiting, reason, ...options } = flags;
    const session = open();
    const chosen = chosenJobs(ids, options);
    if (ifWaiting) return cancelIfWaiting(session, requireOne(chosen, "--if-waiting"), { reason });
    if (ifMatch !== undefined) {
      const api = await session.client();
      const id = await idOf(api, requireOne(chosen, "--if-match"));
      return show(session, await api.cancel(id, { ...seenAs(id, ifMatch), reason }));
    }
    if ("ids" in chosen) return cancelEach(session, chosen.ids, { reason });
    if ("key" in chosen) return show(session, await (await session.client()).cancel(chosen, { reason }));
    return changeMany(session, { action: "cancel", ...chosen, ...filtersOf(options), reason }, options);
  });
  examples(command, [
    "minutehand cancel 01KJMF8S00G00000000000000A",
    "minutehand cancel --topic order-timeout --key order-17",
    "minutehand cancel --topic order-timeout --key order-17 --if-waiting",
    "minutehand cancel --topic order-timeout --tag spring-sale --to 2026-04-01T00:00:00Z --dry-run",
    "minutehand cancel --topic order-timeout --group shop-9 --yes",
  ]);
}

function show({ output }: Session, job: JobSummary): Promise<void> {
  return output.told(job, changedLine(job));
}

async function cancelIfWaiting(
  session: Session,
  chosen: OneChosen,
  options: Pick<Flags, "reason">,
): Promise<void> {
  const api = await session.client();
  const ref = refOf(chosen);
  const result = await api.cancelIfWaiting(ref, options);
  const named = typeof ref === "string" ? ref : ref.key;
  const line = result.job ? changedLine(result.job) : `${named} was not cancelled: ${result.outcome}`;
  await session.output.told(result, line);
}

/** Cancels jobs by id. Tries all, then throws `CliError` if some could not be cancelled. */
async function cancelEach(
  session: Session,
  ids: readonly string[],
  options: Pick<Flags, "reason">,
): Promise<void> {
  const api = await session.client();
  const [only, ...others] = ids;
  if (only !== undefined && others.length === 0) return show(session, await api.cancel(only, options));
  let refused = 0;
  for (const some of chunksOf(ids, BATCH_JOBS)) {
    for (const [i, result] of (await api.cancelMany(some, options)).entries()) {
      if (!(result instanceof MinutehandError)) await show(session, result);
      else {
        refused++;
        session.output.note(`${some[i]}: ${result.message}`);
      }
    }
  }
  if (refused > 0) throw new CliError(`${refused} of ${ids.length} jobs were not cancelled`);
}
