import { type Command, Option } from "commander";
import { durationArgument, instant, REASON } from "../arguments.ts";
import { UsageError } from "../cli-error.ts";
import { changedLine } from "../columns.ts";
import { examples } from "../examples.ts";
import { addJobOptions, type JobFlags, jobFromFlags, type TimeFlags, timeOf } from "../job-options.ts";
import type { Open } from "../session.ts";

type Flags = JobFlags & TimeFlags & { reason?: string };

const ON_DUPLICATE = ["reject", "keep", "replace", "postpone"];

export function addEnqueue(program: Command, open: Open): void {
  const command = program
    .command("enqueue")
    .description("file a job")
    .argument("<topic>")
    .addOption(
      new Option("--delay <duration>", "the job is due this long from now")
        .argParser(durationArgument)
        .conflicts("dueAt"),
    )
    .option("--due-at <time>", "the job is due at this time", instant);
  addJobOptions(command)
    .option("--key <key>", "your own name for the job: a key has at most one live job")
    .addOption(
      new Option("--on-duplicate <what>", "what to do if the key already has a live job").choices(
        ON_DUPLICATE,
      ),
    )
    .option(
      "--max-delay <duration>",
      "with --on-duplicate postpone: the longest time from the first enqueue to the due time",
      durationArgument,
    )
    .option(
      "--idempotency-key <token>",
      "makes a repeat idempotent: the same command with the same token files one job",
    )
    .option(...REASON)
    .action((topic: string, flags: Flags) => enqueue(open, topic, flags));
  examples(command, [
    `minutehand enqueue order-timeout --key order-17 --delay 30m --body '{"orderId": 17}'`,
    "minutehand enqueue reminders --due-at 2026-03-01T09:30:00Z --body @reminder.json",
    `jq -n '{n: 1}' | minutehand enqueue work --delay 0 --body - --json`,
  ]);
}

async function enqueue(open: Open, topic: string, { delay, dueAt, reason, ...flags }: Flags): Promise<void> {
  const time = timeOf({ delay, dueAt });
  if (time === undefined) throw new UsageError("one of --delay and --due-at must be given");
  const { surroundings, output, client } = open();
  const { body, options } = await jobFromFlags(flags, surroundings);
  const api = await client();
  const job = await api.enqueue(topic, body, { ...options, ...time, reason });
  await output.told(job, changedLine(job));
}
