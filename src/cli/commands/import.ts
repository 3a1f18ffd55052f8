import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { DAY } from "../../core/constants.ts";
import { type ErrorCode, MinutehandError } from "../../core/errors.ts";
import { jobState, rate } from "../arguments.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { many } from "../columns.ts";
import { examples } from "../examples.ts";
import { type Entry, entriesOf, type State } from "../import-entries.ts";
import { paced } from "../paced.ts";
import { requireAnswer } from "../selection.ts";
import type { Open, Session } from "../session.ts";
import { requireNamed } from "../target.ts";

type Flags = { state?: State[]; rate: number; dryRun?: true; yes?: true };

export function addImport(program: Command, open: Open): void {
  const command = program
    .command("import")
    .description(
      "file the jobs of an export that still wait, and put its recurring schedules; a repeat files nothing twice",
    )
    .argument("<file>")
    .option(
      "--state <state>",
      "file the jobs that had this state; may be repeated (default: scheduled)",
      jobState,
    )
    .option("--rate <n>", "file at most this many jobs a second", rate, 100)
    .option("--dry-run", "count and check the lines, and change nothing")
    .option("--yes", "import without asking")
    .addHelpText("after", ABOUT)
    .action((file: string, flags: Flags) => importFile(open(), file, flags));
  examples(command, [
    "minutehand import shop.jsonl --stack Shop2 --dry-run",
    "minutehand import shop.jsonl --state scheduled --state running --rate 20 --yes",
  ]);
}

const ABOUT = `
A job keeps its topic, body, dueAt, key and options, and gets a new id. A job whose dueAt is over runs at once. Its attempts
begin again, and its timeline, its revision and the end of its postponements are lost. Schedules of the same name are
replaced; a rate without a start counts from now. The stack of a declared schedule makes that schedule itself.

If the command is interrupted, start it again: the Idempotency-Key of each job is made from its old id. The keys are known
until a day after the new job was due and has ended. Untracked topics store none, so there a repeat files the jobs again.`;

/** A dry run does not look each key up. */
const TAKEN = "; the import refuses those whose key another job has there, which a dry run does not look up";

/** What the file asks, and what the queue will refuse. */
type Plan = {
  readonly jobs: ReadonlyMap<string, number>;
  readonly schedules: number;
  readonly leftOut: ReadonlyMap<string, number>;
  readonly wrong: readonly { readonly number: number; readonly why: string }[];
  /** Whether any line is one that only an export has. */
  readonly isMarked: boolean;
  readonly isComplete: boolean;
  readonly sources: ReadonlySet<string>;
};

async function importFile(session: Session, name: string, flags: Flags): Promise<void> {
  const { output, surroundings } = session;
  const { state: states = ["scheduled"], dryRun, yes } = flags;
  requireAnswer(session, flags, "would file jobs", "count them");
  const path = resolve(surroundings.folder, name);
  if (!existsSync(path)) throw new UsageError(`there is no file ${name}`);
  const plan = await planOf(path, states);
  requireExport(name, plan);
  const api = await session.client({});
  const target = await session.target();
  const { url } = target;
  if (!dryRun) requireNamed(target, "file jobs");
  await tellOf(session, api, plan);
  if (plan.sources.has(url))
    session.output.note("this queue has made the file: each waiting job without a key will be there twice");
  const [jobs, wrong] = [sumOf(plan.jobs), plan.wrong.length];
  const said = `file ${many(jobs)} and put ${many(plan.schedules, "schedule")} in ${url}`;
  if (!dryRun) {
    if (!yes && !(await session.confirm(`${said}?`))) throw new CliError("nothing was imported");
    const entries = entriesOf(path, states);
    return importEntries(session, api, { entries, count: jobs + plan.schedules, rate: flags.rate, wrong });
  }
  const counts = { jobs, schedules: plan.schedules, leftOut: sumOf(plan.leftOut), wrong };
  await output.told({ dryRun, ...counts }, `would ${said}${jobs > 0 ? TAKEN : ""}`);
  if (wrong > 0) throw new CliError(`${many(wrong, "line")} cannot be imported`);
}

async function planOf(path: string, states: readonly State[]): Promise<Plan> {
  const [jobs, leftOut] = [new Map<string, number>(), new Map<string, number>()];
  const sources = new Set<string>();
  const wrong: Plan["wrong"][number][] = [];
  let [schedules, isMarked, isComplete] = [0, false, false];
  for await (const entry of entriesOf(path, states)) {
    isComplete = entry.is === "mark" && entry.isEnd;
    isMarked ||= entry.is === "mark";
    if (entry.is === "mark" && entry.source !== undefined) sources.add(entry.source);
    if (entry.is === "job") addOne(jobs, entry.topic);
    else if (entry.is === "schedule") schedules += 1;
    else if (entry.is === "left out") addOne(leftOut, entry.why);
    else if (entry.is === "wrong") wrong.push(entry);
  }
  return { jobs, schedules, leftOut, wrong, isMarked, isComplete, sources };
}

/** A part of an export has no first line of one, but then it has other lines of an export. */
function requireExport(name: string, { jobs, schedules, leftOut, wrong: [first], isMarked }: Plan): void {
  if (first === undefined || isMarked || jobs.size + schedules + leftOut.size > 0) return;
  throw new UsageError(
    `${name} is not a file of "minutehand export", because none of its lines can be imported. Line ${first.number}: ${first.why}`,
  );
}

function addOne(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** Says what a person should know before the import. */
async function tellOf({ output }: Session, api: Client, plan: Plan): Promise<void> {
  for (const { number, why } of plan.wrong) output.note(`line ${number}: ${why}`);
  if (!plan.isComplete) output.note("the file is not a complete export: see its last line");
  for (const [why, count] of plan.leftOut) output.note(`left out: ${count.toLocaleString("en")} ${why}`);
  const topics = new Map((await api.topics()).map((report) => [report.topic, report]));
  for (const [name, count] of plan.jobs) {
    const topic = topics.get(name);
    if (topic === undefined) output.note(`there is no topic ${name}: ${many(count)} will be refused`);
    else if (topic.policy.tracking === "none")
      output.note(`topic ${name} is untracked: a repeat files its ${many(count)} again`);
  }
}

type Import = {
  readonly entries: AsyncIterable<Entry>;
  readonly count: number;
  readonly rate: number;
  /** How many lines of the file are wrong. */
  readonly wrong: number;
};

async function importEntries(
  session: Session,
  api: Client,
  { entries, count, rate, wrong }: Import,
): Promise<void> {
  const { output, progress, surroundings } = session;
  const { wait } = surroundings;
  const clock = await session.clock();
  session.atInterrupt(async () => output.note("to continue, start the same command again"));
  const done = { filed: 0, before: 0, put: 0, refused: 0 };
  try {
    const work = (entry: Entry) => importOne(api, entry, clock());
    for await (const results of paced(meant(entries), work, { rate, clock, wait })) {
      for (const { result, note } of results) {
        done[result] += 1;
        if (note === undefined) continue;
        progress.clear();
        output.note(note);
      }
      const reached = Object.values(done).reduce((sum, one) => sum + one, 0);
      progress.show(`${Math.floor((100 * reached) / count)} %: ${many(done.filed)} filed`);
    }
  } finally {
    progress.clear();
  }
  const again = done.before === 0 ? "" : `, ${many(done.before)} had been filed before`;
  await output.told(
    { ...done, wrong },
    `filed ${many(done.filed)}${again}; put ${many(done.put, "schedule")}`,
  );
  const left = done.refused + wrong;
  if (left > 0) throw new CliError(`${many(left, "line")} not imported`);
}

async function* meant(entries: AsyncIterable<Entry>): AsyncIterable<Entry> {
  for await (const entry of entries) if (entry.is === "job" || entry.is === "schedule") yield entry;
}

type Result = { readonly result: "filed" | "before" | "put" | "refused"; readonly note?: string };

/** These do not depend on the line, so the import ends with them. */
const TROUBLES: readonly ErrorCode[] = [
  ...(["unavailable", "internal", "forbidden", "bad-answer"] as const),
  ...(["not-found", "method-not-allowed"] as const),
];

async function importOne(api: Client, entry: Entry, now: number): Promise<Result> {
  try {
    if (entry.is === "job") {
      const { outcome } = await api.enqueue(entry.topic, entry.body, entry.options);
      return { result: outcome === "replayed" ? "before" : "filed" };
    }
    if (entry.is === "schedule") await putSchedule(api, entry, now);
    return { result: "put" };
  } catch (error) {
    if (!(error instanceof MinutehandError) || TROUBLES.includes(error.code)) throw error;
    return { result: "refused", note: `line ${entry.number}: ${error.message}` };
  }
}

const YEAR = 365 * DAY;

/**
 * A paused schedule stays paused if it is replaced, but the API creates none that is paused. So another one, which occurs in a year, is
 * paused and then replaced: otherwise an occurrence could file a job before the pause.
 */
async function putSchedule(
  api: Client,
  { name, paused, fields }: Extract<Entry, { is: "schedule" }>,
  now: number,
): Promise<void> {
  if (paused) {
    const { end: _, ...others } = fields;
    const start = new Date(now + YEAR);
    await api.putSchedule(name, { ...others, expression: "rate(365 days)", start });
    await api.pauseSchedule(name);
  }
  await api.putSchedule(name, fields);
}
