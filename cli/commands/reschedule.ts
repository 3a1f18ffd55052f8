import { Argument, type Command, Option } from "commander";
import type { Changes, Duration } from "../../client/client.ts";
import { duration, instant, jobId, rate } from "../arguments.ts";
import { readBody } from "../body.ts";
import { UsageError } from "../cli-error.ts";
import { changedLine } from "../columns.ts";
import { examples } from "../examples.ts";
import { changeMany } from "../many.ts";
import { addFilters, addNames, type Choice, chosenJobs, filtersOf } from "../selection.ts";
import type { Open, Session } from "../session.ts";

const DUE = {
  from: "only those due then or later, else since an hour ago, or from now on with --now",
  to: "only those due before, else for a day from there",
};

type Flags = Choice & { delay?: Duration; dueAt?: string; now?: true; rate?: number; body?: string };

export function addReschedule(program: Command, open: Open): void {
  const command = program
    .command("reschedule")
    .description("give waiting jobs another due time: one by id or key, or many of a topic")
    .addArgument(new Argument("[id]").argParser(jobId))
    .addOption(
      new Option("--delay <duration>", "due so long from now")
        .argParser(duration)
        .conflicts(["dueAt", "now"]),
    )
    .addOption(new Option("--due-at <time>", "due then").argParser(instant).conflicts("now"))
    .option("--now", "run at once")
    .option("--rate <n>", "of many at most so many a second", rate)
    .option("--body <json>", "another body, for one job: JSON, @file, or - for stdin");
  addFilters(addNames(command), DUE).action(async (id: string | undefined, flags: Flags) => {
    const { delay, dueAt, now, rate, body, ...choice } = flags;
    const chosen = chosenJobs(id === undefined ? [] : [id], choice);
    const time = now ? { delay: 0 } : timeOf({ delay, dueAt });
    const session = open();
    if ("ids" in chosen || "key" in chosen) {
      if (time === undefined && body === undefined) {
        throw new UsageError("one of --delay, --due-at, --now and --body must be given");
      }
      if (rate !== undefined) throw new UsageError("--rate is for many jobs");
      return changeOne(session, chosen, { ...time, ...(await bodyOf(body, session)) });
    }
    if (body !== undefined) throw new UsageError("--body is for one job");
    if (time === undefined) throw new UsageError("one of --delay, --due-at and --now must be given");
    const action = now ? { action: "run" as const } : { action: "move" as const, ...time };
    const pace = rate === undefined ? {} : { ratePerSecond: rate };
    return changeMany(session, { ...action, ...chosen, ...filtersOf(choice), ...pace }, choice);
  });
  examples(command, [
    "minutehand reschedule 01KJMF8S00G00000000000000A --delay 1d",
    `minutehand reschedule --topic reminders --key shop-9 --now --body '{"text": "now"}'`,
    "minutehand reschedule --topic reminders --tag spring-sale --due-at 2026-04-01T08:00:00Z --dry-run",
    "minutehand reschedule --topic reminders --group shop-9 --delay 2h --yes",
  ]);
}

function timeOf({
  delay,
  dueAt,
}: {
  delay: Duration | undefined;
  dueAt: string | undefined;
}): Changes | undefined {
  if (delay !== undefined) return { delay };
  return dueAt === undefined ? undefined : { dueAt };
}

async function bodyOf(body: string | undefined, { surroundings }: Session): Promise<Changes> {
  return body === undefined ? {} : { body: await readBody(body, surroundings) };
}

async function changeOne(
  { output, client }: Session,
  chosen: { ids: readonly string[] } | { topic: string; key: string },
  change: Changes,
): Promise<void> {
  const api = await client();
  const id = "ids" in chosen ? (chosen.ids[0] ?? "") : (await api.getByKey(chosen.topic, chosen.key)).id;
  const job = await api.reschedule(id, change);
  await output.told(job, changedLine(job));
}
