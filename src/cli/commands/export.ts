import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { Job, JobState, JobSummary, Schedule } from "../../client/answers.ts";
import type { Client } from "../../client/client.ts";
import { DAY, LIST_JOBS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { STATES } from "../../http/answers/jobs.ts";
import { instant, rate } from "../arguments.ts";
import { many } from "../columns.ts";
import { examples } from "../examples.ts";
import { type ExportFile, openExport } from "../export-file.ts";
import { paced } from "../paced.ts";
import { checkRange } from "../range.ts";
import type { Open, Session } from "../session.ts";

type Flags = { topic?: string; state?: JobState; from?: string; to?: string; rate: number };

/** By default an export begins this long before now, for jobs that a pause has held. */
const BACK = 31 * DAY;
const AHEAD = 366 * DAY;
/** After so many jobs the file says how far it has come: a second start lists them again. */
const NOTED_EVERY = LIST_JOBS;

export function addExport(program: Command, open: Open): void {
  const command = program
    .command("export")
    .description(
      "write the recurring schedules, and jobs of any state with their bodies, to a file of JSON lines",
    )
    .argument("<file>")
    .option("--topic <topic>", "only jobs and schedules of this topic")
    .addOption(new Option("--state <state>", "only jobs in this state").choices(STATES))
    .option("--from <time>", "only jobs with this dueAt or later (default: 31 days ago)", instant)
    .option("--to <time>", "only jobs with a dueAt before this time (default: in 366 days)", instant)
    .option("--rate <n>", "read at most this many jobs a second", rate, 100)
    .addHelpText("after", ABOUT)
    .action((file: string, flags: Flags) => writeExport(open(), file, flags));
  examples(command, [
    "minutehand export shop.jsonl --stack Shop",
    "minutehand export waiting.jsonl --state scheduled --to 2026-06-01T00:00:00Z --rate 20",
  ]);
}

const ABOUT = `
If the command is interrupted, start it again: it goes on where it ended, and writes no job twice. Started again after its
end, it adds the jobs and schedules that the file lacks. It never changes a line of the file.

Each job stands in the file as it was when it was read. What changes during the export: a job that is filed or moved to a
time that the export has passed is missing, and a job that then runs or is cancelled still waits in the file. So pause the
topics first, and let no producer file, move or cancel jobs meanwhile.`;

async function writeExport(session: Session, name: string, { rate, ...asked }: Flags): Promise<void> {
  const { output, progress, surroundings } = session;
  const { clock, folder } = surroundings;
  const now = clock();
  const range = {
    from: new Date(now - BACK).toISOString(),
    to: new Date(now + AHEAD).toISOString(),
    ...asked,
  };
  checkRange(range);
  const { url } = await session.target();
  const api = await session.client({});
  const file = await openExport(resolve(folder, name), { url, ...asked }, { url, ...range });
  session.atInterrupt(async () => {
    output.note("to continue, start the same command again");
    await file.close();
  });
  if (file.isComplete) output.note(`${name} is complete: adding the jobs and schedules that it lacks`);
  try {
    await writeSchedules(api, file);
    await writeJobs(session, api, file, rate);
    await file.write([{ complete: new Date(clock()).toISOString() }]);
  } finally {
    progress.clear();
    await file.close();
  }
  const { from, to } = file.extent;
  const counts = { jobs: file.ids.size, schedules: file.names.size };
  const said = `${name} has ${many(counts.jobs)} due from ${from} to ${to}, and ${many(counts.schedules, "schedule")}`;
  await output.told({ file: name, ...counts, from, to }, said);
}

async function writeSchedules(api: Client, { extent, names, write }: ExportFile): Promise<void> {
  for await (const { name, topic } of api.schedules()) {
    if (names.has(name) || topic !== (extent.topic ?? topic)) continue;
    const schedule = await unlessGone(api.schedule(name), "schedule-not-found");
    if (schedule === undefined) continue;
    await write([{ schedule: schedule as Schedule }]);
    names.add(name);
  }
}

/** Lists a day at a time, because a list may cover 31 days, and the pages of an empty list do not show how far it has come. */
async function writeJobs(session: Session, api: Client, file: ExportFile, rate: number): Promise<void> {
  const { from, to, topic, state } = file.extent;
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  const query = { ...(topic && { topic }), ...(state && { state }), pageSize: LIST_JOBS };
  for (let day = Date.parse(file.reached ?? from); day < end; day += DAY) {
    const next = Math.min(day + DAY, end);
    const listed = api.list({ ...query, from: new Date(day), to: new Date(next) });
    await writeListed(session, api, file, { listed, rate });
    await file.write([{ reached: new Date(next).toISOString() }]);
    const share = Math.floor((100 * (next - begin)) / (end - begin));
    session.progress.show(`${share} %: ${many(file.ids.size)} written`);
  }
}

async function writeListed(
  { surroundings, progress }: Session,
  api: Client,
  { ids, write }: ExportFile,
  { listed, rate }: { listed: AsyncIterable<JobSummary>; rate: number },
): Promise<void> {
  const { clock, wait } = surroundings;
  let unnoted = 0;
  const read = async ({ id, dueAt }: JobSummary) => ({
    dueAt,
    job: await unlessGone(api.get(id), "job-not-found"),
  });
  for await (const found of paced(without(ids, listed), read, { rate, clock, wait })) {
    const jobs = new Map(found.flatMap(({ job }) => (job === undefined ? [] : [[job.id, job as Job]])));
    await write([...jobs.values()].map((job) => ({ job })));
    for (const id of jobs.keys()) ids.add(id);
    unnoted += jobs.size;
    const dueAt = found.at(-1)?.dueAt;
    if (unnoted < NOTED_EVERY || dueAt === undefined) continue;
    await write([{ reached: dueAt }]);
    progress.show(`due ${dueAt}: ${many(ids.size)} written`);
    unnoted = 0;
  }
}

/** A job that is moved to a later time during the export is listed twice. */
async function* without(ids: ReadonlySet<string>, listed: AsyncIterable<JobSummary>) {
  for await (const job of listed) if (!ids.has(job.id)) yield job;
}

/** `undefined`: its retention was over, or somebody has deleted it, after it was listed. */
async function unlessGone<T>(read: Promise<T>, code: MinutehandError["code"]): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof MinutehandError && error.code === code) return undefined;
    throw error;
  }
}
