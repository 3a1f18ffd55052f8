import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { ExportPart, JobState, Schedule } from "../../client/answers.ts";
import type { Client } from "../../client/client.ts";
import { BULK_JOBS } from "../../core/constants.ts";
import type { MinutehandError } from "../../core/errors.ts";
import { STATES } from "../../http/answers/jobs.ts";
import { instant, rate } from "../arguments.ts";
import { CliError } from "../cli-error.ts";
import { many } from "../columns.ts";
import { examples } from "../examples.ts";
import { type ExportFile, openExport } from "../export-file.ts";
import { checkRange } from "../range.ts";
import type { Open, Session } from "../session.ts";
import type { Surroundings } from "../surroundings.ts";

type Flags = { topic?: string; state?: JobState; from?: string; to?: string; rate: number };

export function addExport(program: Command, open: Open): void {
  const command = program
    .command("export")
    .description(
      "write the recurring schedules, and jobs of any state with their bodies, to a file of JSON lines",
    )
    .argument("<file>")
    .option("--topic <topic>", "only jobs and schedules of this topic")
    .addOption(new Option("--state <state>", "only jobs in this state").choices(STATES))
    .option("--from <time>", "only jobs with this dueAt or later", instant)
    .option("--to <time>", "only jobs with a dueAt before this time", instant)
    .option("--rate <n>", "read at most this many jobs a second", rate, 100)
    .addHelpText("after", ABOUT)
    .action((file: string, flags: Flags) => writeExport(open(), file, flags));
  examples(command, [
    "minutehand export shop.jsonl --stack Shop",
    "minutehand export waiting.jsonl --state scheduled --to 2026-06-01T00:00:00Z --rate 20",
  ]);
}

const ABOUT = `
The command reads the whole table, because jobs can be due in ten years.

If the command is interrupted, start it again: it goes on where it ended, and writes no job twice. Started again after its
end, it adds the jobs and schedules that the file lacks. It never changes a line of the file.

Each job stands in the file as it was when it was read. What changes during the export: a job that is filed can be missing,
and a job that then runs, moves or is cancelled still waits in the file. So pause the topics first, and let no producer
file, move or cancel jobs meanwhile.

A job or schedule that cannot be read, because it is damaged or a newer version wrote it, is named and left out, and the
exit code is then 1. An export that goes on counts only those that it comes to itself.`;

async function writeExport(session: Session, name: string, { rate, ...asked }: Flags): Promise<void> {
  const { output, progress, surroundings } = session;
  const { clock, folder } = surroundings;
  if (asked.from !== undefined && asked.to !== undefined) checkRange({ from: asked.from, to: asked.to });
  const extent = { url: (await session.target()).url, ...asked };
  const api = await session.client({});
  const file = await openExport(resolve(folder, name), extent);
  session.atInterrupt(async () => {
    output.note("to continue, start the same command again");
    await file.close();
  });
  if (file.isComplete) output.note(`${name} is complete: adding the jobs and schedules that it lacks`);
  let damaged = 0;
  try {
    damaged += await writeSchedules(session, api, file);
    damaged += await writeJobs(session, api, file, rate);
    await file.write([{ complete: new Date(clock()).toISOString() }]);
  } finally {
    progress.clear();
    await file.close();
  }
  const counts = { jobs: file.ids.size, schedules: file.names.size };
  const said = `${name} has ${many(counts.jobs)}${rangeText(file.extent)} and ${many(counts.schedules, "schedule")}`;
  await output.told({ file: name, ...counts, damaged }, said);
  if (damaged > 0) throw new CliError(`left out ${damaged} that cannot be read`);
}

function rangeText({ from, to }: ExportFile["extent"]): string {
  const bounds = [...(from === undefined ? [] : [`from ${from}`]), ...(to === undefined ? [] : [`to ${to}`])];
  return bounds.length === 0 ? "" : ` due ${bounds.join(" ")},`;
}

/** Answers how many schedules are left out, because they cannot be read. */
async function writeSchedules(
  { output }: Session,
  api: Client,
  { extent, names, write }: ExportFile,
): Promise<number> {
  let damaged = 0;
  for await (const { name, topic } of api.schedules()) {
    if (names.has(name) || topic !== (extent.topic ?? topic)) continue;
    const schedule = await api.schedule(name).catch((error: unknown) => error);
    if (!(schedule instanceof Error)) {
      await write([{ schedule: schedule as Schedule }]);
      names.add(name);
      continue;
    }
    const { code, data } = schedule as Partial<MinutehandError>;
    // Somebody has deleted it after it was listed.
    if (code === "schedule-not-found") continue;
    if (data?.unreadable === undefined) throw schedule;
    output.note(`left out: ${schedule.message}`);
    damaged += 1;
  }
  return damaged;
}

/** Answers how many jobs are left out, because they cannot be read. */
async function writeJobs(
  session: Session,
  api: Client,
  { extent, ids, write, reached }: ExportFile,
  rate: number,
): Promise<number> {
  const { output, progress, surroundings } = session;
  const { url: _, ...query } = extent;
  const pageSize = Math.max(1, Math.min(BULK_JOBS, Math.floor(rate)));
  const asked = { ...query, pageSize, ...(reached !== undefined && { cursor: reached }) };
  const sums = { examined: 0, damaged: 0 };
  for await (const part of paced(api.exportJobs(asked), rate, surroundings)) {
    const jobs = part.jobs.filter(({ id }) => !ids.has(id));
    const place = part.cursor === undefined ? [] : [{ reached: part.cursor }];
    await write([...jobs.map((job) => ({ job })), ...place]);
    for (const { id } of jobs) ids.add(id);
    sums.examined += part.examined;
    sums.damaged += part.errors.length;
    if (part.errors.length > 0) progress.clear();
    for (const { problem } of part.errors) output.note(`left out: ${problem.detail}`);
    progress.show(`${many(sums.examined)} read, ${ids.size.toLocaleString("en")} written`);
  }
  return sums.damaged;
}

/** Waits after each part, so that at most `rate` jobs a second are read. */
async function* paced(
  parts: AsyncIterable<ExportPart>,
  rate: number,
  { clock, wait }: Surroundings,
): AsyncIterable<ExportPart> {
  let began = clock();
  for await (const part of parts) {
    yield part;
    const left = began + (part.examined * 1000) / rate - clock();
    if (left > 0) await wait(left);
    began = clock();
  }
}
