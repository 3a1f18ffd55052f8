import type { BulkResult } from "../client/answers.ts";
import type { BulkRequest } from "../client/options.ts";
import { CliError, UsageError } from "./cli-error.ts";
import { many } from "./columns.ts";
import type { Caution } from "./selection.ts";
import type { Session } from "./session.ts";

type Words = { readonly verb: string; readonly done: string; readonly range: string };

/** The words for each action: before it, after it, and for its range. */
const WORDS: Readonly<Record<BulkRequest["action"], Words>> = {
  cancel: { verb: "cancel", done: "cancelled", range: "due" },
  move: { verb: "move", done: "moved", range: "due" },
  run: { verb: "run", done: "set to run now", range: "due" },
  redrive: { verb: "redrive", done: "redriven", range: "that died" },
};

/** A topic easily runs as many jobs in one second. */
const CROWD = 100;

/**
 * Counts, asks, and changes. `--yes` and `--cursor` skip the first two, `--dry-run` the others. Throws `UsageError` if it must ask without
 * a terminal, `CliError` if the user does not confirm or some jobs could not be changed.
 */
export async function changeMany(session: Session, request: BulkRequest, caution: Caution): Promise<void> {
  const { output } = session;
  const { verb, done } = WORDS[request.action];
  if (caution.yes || request.cursor !== undefined) return change(session, request);
  if (!caution.dryRun && !session.isAttended) {
    throw new UsageError(
      `this command would ${verb} many jobs: confirm with --yes, or count them first with --dry-run`,
    );
  }
  const counted = await run(session, { ...request, dryRun: true });
  const changeable = counted.matched - leftOf(counted);
  const plan = `${verb} ${jobsOf(changeable, counted, request)}${crowdOf(changeable, request)}`;
  if (caution.dryRun) return output.told(counted, `would ${plan}`);
  if (changeable === 0) return output.note(`there is nothing to do: would ${plan}`);
  if (!(await session.confirm(`${plan}?`))) throw new CliError(`nothing was ${done}`);
  // Change exactly the range that was counted. A default range would be later by now.
  return change(session, { ...request, from: counted.from, to: counted.to });
}

/** Warns if so many jobs would become due in the same second. */
function crowdOf(count: number, { action, shift, ratePerSecond }: BulkRequest): string {
  if (action !== "move" || shift !== undefined || ratePerSecond !== undefined || count <= CROWD) return "";
  return ", all to the same second (--shift moves each by as much, and --rate spreads them)";
}

async function change(session: Session, request: BulkRequest): Promise<void> {
  const { output } = session;
  const result = await run(session, request);
  const { changed, errors, skipped } = result;
  const said = `${WORDS[request.action].done} ${jobsOf(changed, result, request)}`;
  await output.told(result, said);
  for (const { id, problem } of errors) output.note(`${id}: ${problem.detail}`);
  const left = leftOf(result);
  if (left > 0) throw new CliError(`${many(left)} not changed: ${reasonsOf(skipped)}`);
}

async function run(
  { client, progress, output, surroundings }: Session,
  request: BulkRequest,
): Promise<BulkResult> {
  const api = await client();
  let last: BulkResult | undefined;
  let isRunning = true;
  const tellWayOn = (): void => {
    progress.clear();
    const way = isRunning && wayOn(request, last);
    if (way) output.note(way);
  };
  void surroundings.interrupted().then(tellWayOn);
  try {
    return await api.bulk(request, (sums) => {
      last = sums;
      const [matched, changed] = [many(sums.matched), many(sums.changed)];
      const said = request.dryRun ? `${matched} found` : `${changed} ${WORDS[request.action].done}`;
      if (sums.reached !== sums.to) progress.show(`${shareOf(sums)} %: ${said}`);
    });
  } catch (error) {
    tellWayOn();
    throw error;
  } finally {
    isRunning = false;
    progress.clear();
  }
}

/** What an interrupted bulk has done, and how to go on. `undefined` if no part has ended, and for a dry run: just start it again. */
function wayOn(request: BulkRequest, last: BulkResult | undefined): string | undefined {
  const { action, from, to, dryRun } = request;
  const cursor = last?.cursor ?? request.cursor;
  if (cursor === undefined || dryRun) return undefined;
  // The cursor is tied to the request, so print the times of the request and not those of the answer.
  const range = Object.entries({ from, to }).flatMap(([name, time]) => (time ? `--${name} ${time} ` : []));
  const done = `${many(last?.changed ?? 0)} ${WORDS[action].done}`;
  return `${done}; to continue, run the same command with ${range.join("")}--cursor ${cursor}`;
}

/** How much of its range a bulk has examined, in percent. */
function shareOf({ from, to, reached }: BulkResult): number {
  const [begin, end, at] = [Date.parse(from), Date.parse(to), Date.parse(reached)];
  return Math.floor((100 * (at - begin)) / (end - begin));
}

function leftOf({ skipped }: BulkResult): number {
  return Object.values(skipped).reduce((sum, count) => sum + count, 0);
}

function reasonsOf(skipped: Readonly<Record<string, number>>): string {
  return Object.entries(skipped)
    .map(([code, count]) => `${count.toLocaleString("en")} ${code}`)
    .join(", ");
}

function jobsOf(count: number, { from, to }: BulkResult, { action, topic }: BulkRequest): string {
  return `${many(count)} of ${topic} ${WORDS[action].range} from ${from} to ${to}`;
}
