import { type Command, Option } from "commander";
import type { Duration, EnqueueOptions } from "../client/options.ts";
import { JOB_OPTIONS, type JobOption, OPTION_NAMES } from "../core/job-options.ts";
import { filters } from "../http/job-options.ts";
import { durationArgument, header, wholeNumber } from "./arguments.ts";
import { readBody } from "./body.ts";
import type { Surroundings } from "./surroundings.ts";

export type JobFlags = Omit<EnqueueOptions, "headers" | "delay" | "dueAt"> & {
  body: string;
  header?: Record<string, string>;
};

/** The flags that say when a job is due. The commands allow only one of the two. */
export type TimeFlags = { delay?: Duration | undefined; dueAt?: string | undefined };

/** When a job is due, as the client takes it. `undefined` without a flag. */
export function timeOf({ delay, dueAt }: TimeFlags): { delay: Duration } | { dueAt: string } | undefined {
  if (delay !== undefined) return { delay };
  return dueAt === undefined ? undefined : { dueAt };
}

export function addOptionFilters(command: Command): Command {
  for (const name of Object.keys(filters))
    command.option(`--${name} <${name}>`, `only jobs with this ${name}`);
  return command;
}

export function addJobOptions(command: Command): Command {
  command.requiredOption("--body <json>", "the job's body: JSON, @file, or - to read stdin");
  for (const name of OPTION_NAMES) command.addOption(flagOf(name));
  return command;
}

/** The flag of an option, such as `--expires-after <duration>` for `expiresAfter`. */
function flagOf(name: JobOption): Option {
  const option = JOB_OPTIONS[name];
  const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const { description } = option;
  switch (option.kind) {
    case "headers":
      return new Option(
        "--header <name=value>",
        `${description} Repeat the flag for more headers.`,
      ).argParser(header);
    case "duration":
      return new Option(`--${flag} <duration>`, description).argParser(durationArgument);
    case "count":
      return new Option(`--${flag} <n>`, description).argParser(wholeNumber(option.least, option.most));
    default:
      return new Option(`--${flag} <${flag.split("-").at(-1)}>`, description);
  }
}

/** The body and the options as the client takes them. Throws `UsageError` for a body that is not JSON. */
export async function jobFromFlags<Flags extends JobFlags>(
  { body, header, ...options }: Flags,
  surroundings: Surroundings,
) {
  const headers = header === undefined ? {} : { headers: header };
  return { body: await readBody(body, surroundings), options: { ...options, ...headers } };
}
