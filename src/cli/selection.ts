import { type Command, Option } from "commander";
import type { Client } from "../client/client.ts";
import type { JobRef } from "../client/job-ref.ts";
import { instant, wholeNumber } from "./arguments.ts";
import { UsageError } from "./cli-error.ts";
import { addOptionFilters } from "./job-options.ts";
import { checkRange } from "./range.ts";
import type { Session } from "./session.ts";

export type Filters = { tag?: string; group?: string; from?: string; to?: string; cursor?: string };

export type Caution = { dryRun?: true; yes?: true };

export type Choice = Filters & Caution & { topic?: string; key?: string };

/** The jobs that a command is for: by ids, one by key, or many of a topic. */
export type Chosen = OneChosen | { topic: string };
export type OneChosen = { ids: readonly string[] } | { topic: string; key: string };

/** The help texts of `--from` and `--to`. */
const DUE = {
  from: "only jobs with this dueAt or later (default: an hour ago)",
  to: "only jobs with a dueAt before this time (default: one day after --from)",
};

/** The same for commands that change dead jobs. */
export const DIED = {
  from: "only jobs that died at this time or later (default: 366 days before --to)",
  to: "only jobs that died before this time (default: now)",
};

export function addFilters(command: Command, { from, to } = DUE): Command {
  const filtered = addOptionFilters(command).option("--from <time>", from, instant);
  return addCaution(filtered.option("--to <time>", to, instant));
}

export function addCaution(command: Command): Command {
  return command
    .addOption(new Option("--dry-run", "count the jobs and change nothing").conflicts("yes"))
    .option("--yes", "change the jobs without asking")
    .addOption(
      new Option(
        "--cursor <cursor>",
        "continue an interrupted command with the cursor that it printed",
      ).conflicts("dryRun"),
    );
}

/** Throws `UsageError` if the command must ask before it changes anything, and no terminal can answer. `does`: the command. `look`: a dry run. */
export function requireAnswer(
  { isAttended }: Session,
  { dryRun, yes }: Caution,
  does: string,
  look: string,
): void {
  if (isAttended || dryRun || yes) return;
  throw new UsageError(`this command ${does}: confirm with --yes, or ${look} first with --dry-run`);
}

export function addNames(command: Command): Command {
  return command
    .option("--topic <topic>", "the topic of --key, or the topic whose jobs to change")
    .option("--key <key>", "the job with this key");
}

export type Seen = { ifMatch?: number };

/** The flag of commands that change one job as the user saw it. */
export function addSeen(command: Command): Command {
  return command.option(
    "--if-match <revision>",
    "for one job: change it only if it still has this revision",
    wholeNumber(0),
  );
}

export function onlyForOne(flag: string): UsageError {
  return new UsageError(`${flag} must be given for one job only, not for many`);
}

/** The client's option for a job that the user saw at a revision. Empty without `--if-match`. */
export function seenAs(id: string, revision: number | undefined) {
  return revision === undefined ? {} : { ifMatch: { id, revision } };
}

/** Throws `UsageError` for several jobs. */
export function requireOne(chosen: Chosen, flag: string): OneChosen {
  if ("ids" in chosen ? chosen.ids.length === 1 : "key" in chosen) return chosen as OneChosen;
  throw onlyForOne(flag);
}

/** Names the job as the client takes it. */
export function refOf(chosen: OneChosen): JobRef {
  return "ids" in chosen ? (chosen.ids[0] ?? "") : chosen;
}

/** `--if-match` needs the id. */
export async function idOf(api: Client, chosen: OneChosen): Promise<string> {
  const job = refOf(chosen);
  return typeof job === "string" ? job : (await api.get(job)).id;
}

/** Answers which jobs a command is for. Throws `UsageError` unless they are named in exactly one way. */
export function chosenJobs(ids: readonly string[], { topic, key, ...filters }: Choice): Chosen {
  const [filter] = Object.keys(filters);
  if (ids.length > 0) {
    if (topic === undefined && key === undefined && filter === undefined) return { ids };
    throw new UsageError("ids must be given without --topic, --key and filters");
  }
  if (topic === undefined) {
    throw new UsageError("name the jobs: give ids, or --topic and --key, or --topic with filters");
  }
  if (key === undefined) return { topic };
  if (filter === undefined) return { topic, key };
  throw new UsageError("--key names one job: it must be given without filters, --dry-run and --yes");
}

/** Answers the options that select many jobs of a topic. Throws `UsageError` for a range that ends before it begins. */
export function filtersOf({ topic: _, key: __, dryRun: ___, yes: ____, ...filters }: Choice): Filters {
  checkRange(filters);
  return filters;
}
