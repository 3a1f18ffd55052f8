import type { Command } from "commander";
import { wholeNumber } from "../arguments.ts";
import { readBody } from "../body.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { many } from "../columns.ts";
import { examples } from "../examples.ts";
import { extentOf, type Plan, type Proof, startRun } from "../prove.ts";
import type { Open, Session } from "../session.ts";
import type { Column } from "../table.ts";
import { requireNamed } from "../target.ts";

type Flags = { topic: string; body: string; failingBody?: string; jobs: number; yes?: true };

const MOST_JOBS = 500;

const ms = (value: number | undefined) => (value === undefined ? undefined : `${value} ms`);

const COLUMNS: Column<Proof>[] = [
  { head: "WHAT", text: ({ what }) => what },
  { head: "JOBS", align: "right", text: ({ jobs }) => jobs },
  {
    head: "AS PROMISED",
    align: "right",
    text: ({ kept }) => kept,
    style: ({ kept, jobs }) => (kept < jobs ? "red" : "green"),
  },
  { head: "LATE: MEDIAN", align: "right", text: ({ median }) => ms(median) },
  { head: "P99", align: "right", text: ({ p99 }) => ms(p99) },
  { head: "MOST", align: "right", text: ({ most }) => ms(most) },
];

export function addProve(program: Command, open: Open): void {
  const command = program
    .command("prove")
    .description(
      "prove a deployed queue: file jobs in one of its topics, and measure whether they start on time, are cancelled, and are retried",
    )
    .requiredOption("--topic <topic>", "the topic whose handler runs the jobs")
    .option("--body <json>", "the body of the jobs: JSON, @file, or - for stdin", '{"minutehand":"prove"}')
    .option(
      "--failing-body <json>",
      "a body with which the handler fails once and then succeeds; without it no retry is proven",
    )
    .option("--jobs <n>", `how many jobs each part files, 1 to ${MOST_JOBS}`, wholeNumber(1, MOST_JOBS), 50)
    .option("--yes", "file the jobs without asking")
    .action((flags: Flags) => prove(open(), flags));
  examples(command, [
    "minutehand prove --stack Shop --profile test --topic order-timeout",
    `minutehand prove --topic reminders --body '{"text": "a test"}' --jobs 200 --yes`,
  ]);
}

async function prove(session: Session, flags: Flags): Promise<void> {
  const { output, progress, surroundings } = session;
  const plan = await planOf(session, flags);
  requireNamed(await session.target(), "file jobs");
  const api = await session.client();
  await requireReadable(session, plan.topic);
  const { url } = await session.target();
  const { filed, run, dollars } = extentOf(plan);
  output.note(
    `prove files ${many(filed)} in the topic ${plan.topic} of ${url}. Its handler runs ${run.toLocaleString("en")} of them, with the body ` +
      `${JSON.stringify(plan.body)}. This takes about five minutes, and AWS charges at most $${dollars.toFixed(2)}, without the handler's time. ` +
      "Ctrl-C cancels the jobs that still wait. The others can be read until their retention is over",
  );
  if (!flags.yes && !(await session.confirm("file them?"))) throw new CliError("nothing was filed");
  const started = startRun(api, plan, { clock: await session.clock(), wait: surroundings.wait });
  const remove = async (): Promise<void> => {
    const removed = await started.remove();
    if (removed > 0) output.note(`cancelled ${many(removed)} that still waited`);
  };
  session.atInterrupt(remove);
  const proofs = await started.prove(progress.show).finally(() => {
    progress.clear();
    return remove();
  });
  await output.entries(proofs, COLUMNS, "");
  if (plan.failing === undefined) output.note("no retry was proven: that needs --failing-body");
  const broken = proofs.reduce((sum, { jobs, kept }) => sum + jobs - kept, 0);
  if (broken > 0) throw new CliError(`${many(broken)} did not do as promised: see "minutehand doctor"`);
}

async function planOf({ surroundings, isAttended }: Session, flags: Flags): Promise<Plan> {
  const { topic, jobs, body, failingBody, yes } = flags;
  if (!yes && !isAttended) throw new UsageError("this command would file jobs: confirm with --yes");
  const plan = { topic, jobs, body: await readBody(body, surroundings) };
  if (failingBody === undefined) return plan;
  return { ...plan, failing: { body: await readBody(failingBody, surroundings, "--failing-body") } };
}

/** Throws unless the topic exists, records the runs of its jobs, and is not paused. */
async function requireReadable(session: Session, topic: string): Promise<void> {
  const { policy, pause } = await (await session.client()).topic(topic);
  if (policy.tracking === "none")
    throw new UsageError(`--topic must be a tracked topic, because nothing records the runs of "${topic}"`);
  if (pause !== undefined)
    throw new CliError(`topic ${topic} is ${pause.state}: wait until its jobs start again`);
}
