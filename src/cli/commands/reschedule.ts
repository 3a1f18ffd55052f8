import { randomUUID } from "node:crypto";
import { Argument, type Command, Option } from "commander";
import type { Changes, Duration } from "../../client/options.ts";
import { durationArgument, instant, jobId, REASON, rate, shiftArgument } from "../arguments.ts";
import { readBody } from "../body.ts";
import { UsageError } from "../cli-error.ts";
import { changedLine } from "../columns.ts";
import { examples } from "../examples.ts";
import { type TimeFlags, timeOf } from "../job-options.ts";
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
  onlyForOne,
  refOf,
  type Seen,
  seenAs,
} from "../selection.ts";
import type { Open, Session } from "../session.ts";

const DUE = {
  from: "only jobs with this dueAt or later (default: an hour ago; with --now: now)",
  to: "only jobs with a dueAt before this time (default: one day after --from)",
};

type Flags = Choice &
  Seen &
  TimeFlags & {
    now?: true;
    shift?: Duration;
    idempotencyKey?: string;
    rate?: number;
    body?: string;
    reason?: string;
  };

export function addReschedule(program: Command, open: Open): void {
  const command = program
    .command("reschedule")
    .description("change the due time of waiting jobs: one job by id or key, or many jobs of a topic")
    .addArgument(new Argument("[id]").argParser(jobId))
    .addOption(
      new Option("--delay <duration>", "the job is due this long from now")
        .argParser(durationArgument)
        .conflicts(["dueAt", "now"]),
    )
    .addOption(
      new Option("--due-at <time>", "the job is due at this time").argParser(instant).conflicts("now"),
    )
    .option("--now", "the job is due now")
    .addOption(
      new Option("--shift <duration>", "each job is due this much later than it was, or earlier with -30m")
        .argParser(shiftArgument)
        .conflicts(["delay", "dueAt", "now", "rate"]),
    )
    .option(
      "--idempotency-key <token>",
      "with --shift of many jobs: the key that an interrupted command printed, so that no job is moved twice",
    )
    .option("--rate <n>", "for many jobs: start at most this many a second", rate)
    .option("--body <json>", "for one job: the new body as JSON, @file, or - to read stdin")
    .option(...REASON);
  addFilters(addSeen(addNames(command)), DUE).action((id: string | undefined, flags: Flags) =>
    reschedule(open, id, flags),
  );
  examples(command, [
    "minutehand reschedule 01KJMF8S00G00000000000000A --delay 1d",
    "minutehand reschedule --topic order-timeout --key order-17 --shift 1h",
    `minutehand reschedule --topic reminders --key shop-9 --now --body '{"text": "now"}'`,
    "minutehand reschedule --topic reminders --tag spring-sale --due-at 2026-04-01T08:00:00Z --dry-run",
    "minutehand reschedule --topic reminders --group shop-9 --shift 2h --yes",
  ]);
}

async function reschedule(open: Open, id: string | undefined, flags: Flags): Promise<void> {
  const { delay, dueAt, now, shift, idempotencyKey, rate, body, reason, ifMatch, ...choice } = flags;
  const chosen = chosenJobs(id === undefined ? [] : [id], choice);
  const time = now ? { delay: 0 } : timeOf({ delay, dueAt });
  const session = open();
  if ("ids" in chosen || "key" in chosen) {
    const moved = shift === undefined ? time : { shift };
    if (moved === undefined && body === undefined) {
      throw new UsageError("one of --delay, --due-at, --shift, --now and --body must be given");
    }
    for (const [flag, given] of Object.entries({ "--rate": rate, "--idempotency-key": idempotencyKey }))
      if (given !== undefined) throw new UsageError(`${flag} must be given for many jobs only, not for one`);
    return changeOne(session, chosen, ifMatch, { ...moved, ...(await bodyOf(body, session)), reason });
  }
  if (ifMatch !== undefined) throw onlyForOne("--if-match");
  if (body !== undefined) throw onlyForOne("--body");
  // A second run of a shift would move the jobs once more, so the key of the first one must be known.
  const moved = shift === undefined ? time : { shift, idempotencyKey: idempotencyKey ?? randomUUID() };
  if (moved === undefined) throw new UsageError("one of --delay, --due-at, --shift and --now must be given");
  const action = now ? { action: "run" as const } : { action: "move" as const, ...moved };
  const pace = rate === undefined ? {} : { ratePerSecond: rate };
  return changeMany(session, { ...action, ...chosen, ...filtersOf(choice), ...pace, reason }, choice);
}

async function bodyOf(body: string | undefined, { surroundings }: Session): Promise<{ body?: unknown }> {
  return body === undefined ? {} : { body: await readBody(body, surroundings) };
}

async function changeOne(
  { output, client }: Session,
  chosen: OneChosen,
  ifMatch: number | undefined,
  change: Changes,
): Promise<void> {
  const api = await client();
  const ref = ifMatch === undefined ? refOf(chosen) : await idOf(api, chosen);
  const seen = typeof ref === "string" ? seenAs(ref, ifMatch) : {};
  const job = await api.reschedule(ref, { ...change, ...seen });
  await output.told(job, changedLine(job));
}
