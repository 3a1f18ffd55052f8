import type { Command } from "commander";
import type { Schedule } from "../../client/answers.ts";
import type { ScheduleSummary } from "../../client/client.ts";
import type { NewSchedule } from "../../client/options.ts";
import { durationArgument, instant } from "../arguments.ts";
import { UsageError } from "../cli-error.ts";
import { changedLine } from "../columns.ts";
import { examples } from "../examples.ts";
import { addJobOptions, type JobFlags, jobFromFlags } from "../job-options.ts";
import type { Open, Session } from "../session.ts";
import type { Column } from "../table.ts";

const COLUMNS: Column<ScheduleSummary>[] = [
  { head: "NAME", text: ({ name }) => name },
  { head: "TOPIC", text: ({ topic }) => topic },
  { head: "EXPRESSION", text: ({ expression }) => expression },
  { head: "ZONE", text: ({ timezone }) => timezone },
  {
    head: "NEXT",
    text: ({ paused, next: [first = "never"] }) => (paused ? "paused" : first),
    style: ({ paused }) => (paused ? "yellow" : undefined),
  },
  { head: "BY ITS CLOCK", text: (schedule) => (schedule.paused ? "" : byItsClock(schedule)) },
];

/** The next times of a schedule as a person says them show whether the expression means what was meant. */
function byItsClock({ timezone, next }: Pick<ScheduleSummary, "timezone" | "next">): string {
  const parts = ["weekday", "day", "month", "year", "hour", "minute"] as const;
  try {
    const clock = new Intl.DateTimeFormat("en-GB", {
      ...{ timeZone: timezone, weekday: "short", day: "numeric", month: "short", year: "numeric" },
      ...{ hour: "2-digit", minute: "2-digit" },
    });
    const said = next.slice(0, SAID).map((time) => {
      const found = new Map(clock.formatToParts(new Date(time)).map(({ type, value }) => [type, value]));
      const [weekday, day, month, year, hour, minute] = parts.map((part) => found.get(part));
      return `${weekday} ${day} ${month} ${year} ${hour}:${minute}`;
    });
    return said.join(", ");
  } catch (error) {
    // This Node does not know the zone.
    if (error instanceof RangeError) return "";
    throw error;
  }
}

/** How many times are said. Three show most rhythms. */
const SAID = 3;

export function addSchedules(program: Command, open: Open): void {
  const group = program.command("schedules").description("manage recurring jobs");
  examples(group, ["minutehand schedules list", "minutehand schedules put --help"]);

  const listAll = async (): Promise<void> => {
    const { output, client } = open();
    const api = await client();
    await output.entries(api.schedules(), COLUMNS, "no schedule");
  };
  // Without a word, `schedules` lists. Commander runs subcommands itself, so a word that comes here is not the name of one.
  group.allowExcessArguments().action(async () => {
    const [word] = group.args;
    if (word !== undefined) throw new UsageError(`unknown command 'schedules ${word}': ${known(group)}`);
    await listAll();
  });
  const list = group
    .command("list")
    .description("list schedules with their next occurrences; also without a subcommand")
    .action(listAll);
  examples(list, ["minutehand schedules list"]);

  addPut(group, open);
  for (const { name, alias, description, act } of NAMED) {
    const command = group.command(name).description(description).argument("<name>");
    if (alias !== undefined) command.alias(alias);
    command.action((schedule: string) => act(open(), schedule));
    examples(command, [`minutehand schedules ${name} daily-report`]);
  }
}

type Named = {
  readonly name: string;
  readonly alias?: string;
  readonly description: string;
  readonly act: (session: Session, name: string) => Promise<void>;
};

const NAMED: readonly Named[] = [
  {
    name: "show",
    // A job is read with `get`, so a user tries it here too.
    alias: "get",
    description: "show a schedule and its next five occurrences",
    act: async (session, name) => show(session, await (await session.client()).schedule(name)),
  },
  {
    name: "pause",
    description: "pause a schedule: no occurrence files a job until you resume the schedule",
    act: async (session, name) => show(session, await (await session.client()).pauseSchedule(name)),
  },
  {
    name: "resume",
    description: "resume a schedule, beginning with its next occurrence",
    act: async (session, name) => show(session, await (await session.client()).resumeSchedule(name)),
  },
  {
    name: "run",
    description: "file the job of a schedule now, in addition to its occurrences",
    async act({ client, output }, name) {
      const job = await (await client()).runSchedule(name);
      await output.told(job, changedLine(job));
    },
  },
  {
    name: "remove",
    description: "delete a schedule; the jobs that it has filed stay",
    async act({ client, output }, name) {
      const removed = await (await client()).removeSchedule(name);
      await output.told(removed, `${name} is removed`);
    },
  },
];

function known(group: Command): string {
  return `it must be ${group.commands
    .map((command) => command.name())
    .join(", ")
    .replace(/, (?=\w+$)/, " or ")}`;
}

type PutFlags = JobFlags &
  Pick<NewSchedule, "expression" | "timezone" | "flexibleWindow" | "topic"> & {
    start?: string;
    end?: string;
  };

function addPut(group: Command, open: Open): void {
  const command = group
    .command("put")
    .description("create a schedule, or replace all fields of the schedule with this name")
    .argument("<name>")
    .requiredOption("--topic <topic>", "topic of the jobs")
    .requiredOption("--expression <text>", "cron(…), rate(…) or at(…); or five fields of cron, or @daily")
    .option("--timezone <zone>", "IANA time zone (default: UTC)")
    .option("--start <time>", "no occurrence before this time", instant)
    .option("--end <time>", "no occurrence after this time", instant)
    .option(
      "--flexible-window <duration>",
      "each occurrence may come up to this much later, in whole minutes",
      durationArgument,
    );
  addJobOptions(command).action(async (name: string, flags: PutFlags) => {
    const session = open();
    const { body, options } = await jobFromFlags(flags, session.surroundings);
    const api = await session.client();
    await show(session, await api.putSchedule(name, { ...options, body }));
  });
  examples(command, [
    `minutehand schedules put daily-report --topic work --expression "cron(0 9 * * ? *)" --timezone Europe/Berlin --body '{}'`,
    `minutehand schedules put poll --topic work --expression "rate(10 minutes)" --body @poll.json`,
  ]);
}

async function show({ output }: Session, schedule: Schedule): Promise<void> {
  if (output.json) return output.document(schedule);
  const { next, body, ...fields } = schedule;
  await output.fields({
    ...fields,
    next: next.join(", ") || "never",
    "by its clock": byItsClock(schedule) || undefined,
  });
  await output.value(body);
}
