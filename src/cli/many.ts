import type { BulkResult } from "../client/answers.ts";
import type { Client } from "../client/client.ts";
import type { BulkRequest } from "../client/options.ts";
import { CliError } from "./cli-error.ts";
import { many } from "./columns.ts";
import { type Caution, requireAnswer } from "./selection.ts";
import type { Session } from "./session.ts";
import { requireNamed } from "./target.ts";

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

type Asked = { dryRun?: boolean; cursor?: string };
type Sums = Pick<BulkResult, "matched" | "changed" | "skipped" | "errors" | "cursor">;

/** How many jobs are changed, and how it is told. */
export type Way<Request extends Asked, Result extends Sums> = {
  /** Before the change, such as `cancel`, and after it, such as `cancelled`. */
  readonly verb: string;
  readonly done: string;
  readonly call: (api: Client, request: Request, onProgress: (sums: Result) => void) => Promise<Result>;
  /** Says which jobs these are. */
  readonly jobs: (count: number, result: Result) => string;
  /** What to consider before so many jobs are changed. An empty text: nothing. */
  readonly warning: (count: number) => string;
  /** Says how far the work has come. `undefined`: it is done. */
  readonly reached: (sums: Result) => string | undefined;
  /** Answers the request that changes exactly the jobs that were counted. */
  readonly asCounted: (counted: Result) => Request;
  /** The flags, besides those of the user, with which the command continues: each with a space behind it. */
  readonly flags: (request: Request) => string;
  /** If the first part got no answer, the command must be run again with this flag. Absent: it may be run again as it is. */
  readonly again?: string;
  /** What a user can do about jobs that were left. */
  readonly hint: string;
};

export function changeMany(session: Session, request: BulkRequest, caution: Caution): Promise<void> {
  const { action, topic, idempotencyKey } = request;
  const { verb, done, range } = WORDS[action];
  const way: Way<BulkRequest, BulkResult> = {
    ...{ verb, done, hint: "" },
    ...(idempotencyKey !== undefined && { again: `--idempotency-key ${idempotencyKey}` }),
    call(api, { idempotencyKey: key, ...asked }, onProgress) {
      const repeatable = asked.dryRun || key === undefined ? {} : { idempotencyKey: key };
      return api.bulk({ ...asked, ...repeatable }, onProgress);
    },
    jobs: (count, result) => `${many(count)} of ${topic} ${range} from ${result.from} to ${result.to}`,
    warning: (count) => crowdOf(count, request),
    // The cursor is tied to the request, so print the times of the request and not those of the answer.
    flags: ({ from, to }) =>
      Object.entries({ from, to })
        .map(([name, time]) => (time ? `--${name} ${time} ` : ""))
        .join(""),
    reached: (sums) => (sums.reached === sums.to ? undefined : `${shareOf(sums)} %`),
    // A default range would be later by now.
    asCounted: (counted) => ({ ...request, from: counted.from, to: counted.to }),
  };
  return changeSome(session, way, request, caution);
}

/**
 * Counts, asks, and changes. `--yes` and `--cursor` skip the first two, `--dry-run` the others. Throws `UsageError` if nothing names the
 * API or if it must ask without a terminal, `CliError` if the user does not confirm or some jobs could not be changed.
 */
export async function changeSome<Request extends Asked, Result extends Sums>(
  session: Session,
  way: Way<Request, Result>,
  request: Request,
  caution: Caution,
): Promise<void> {
  const { output } = session;
  const { verb, done } = way;
  const does = `${verb} many jobs`;
  const isConfirmed = caution.yes || request.cursor !== undefined;
  if (!isConfirmed) requireAnswer(session, caution, `would ${does}`, "count them");
  if (!caution.dryRun) requireNamed(await session.target(), does);
  if (isConfirmed) return change(session, way, request);
  const counted = await run(session, way, { ...request, dryRun: true });
  const left = leftOf(counted);
  const changeable = counted.matched - left;
  if (left > 0) output.note(`${many(left)} would be left: ${reasonsOf(counted.skipped)}`);
  const plan = `${verb} ${way.jobs(changeable, counted)}${way.warning(changeable)}`;
  if (caution.dryRun) return output.told(counted, `would ${plan}`);
  if (changeable === 0) return output.note(`there is nothing to do: would ${plan}`);
  if (!(await session.confirm(`${plan}?`))) throw new CliError(`nothing was ${done}`);
  return change(session, way, way.asCounted(counted));
}

/** Warns if so many jobs would become due in the same second. */
function crowdOf(count: number, { action, shift, ratePerSecond }: BulkRequest): string {
  if (action !== "move" || shift !== undefined || ratePerSecond !== undefined || count <= CROWD) return "";
  return ", all to the same second (--shift moves each by as much, and --rate spreads them)";
}

async function change<Request extends Asked, Result extends Sums>(
  session: Session,
  way: Way<Request, Result>,
  request: Request,
): Promise<void> {
  const { output } = session;
  const result = await run(session, way, request);
  const { changed, errors, skipped } = result;
  await output.told(result, `${way.done} ${way.jobs(changed, result)}`);
  for (const { id, problem } of errors) output.note(`${id}: ${problem.detail}`);
  const left = leftOf(result);
  if (left > 0) throw new CliError(`${many(left)} not changed: ${reasonsOf(skipped)}${way.hint}`);
}

async function run<Request extends Asked, Result extends Sums>(
  { client, progress, output, surroundings }: Session,
  way: Way<Request, Result>,
  request: Request,
): Promise<Result> {
  const api = await client();
  let last: Result | undefined;
  let isRunning = true;
  const tellWayOn = (): void => {
    progress.clear();
    const told = isRunning && wayOn(way, request, last);
    if (told) output.note(told);
  };
  void surroundings.interrupted().then(tellWayOn);
  try {
    return await way.call(api, request, (sums) => {
      last = sums;
      const [matched, changed] = [many(sums.matched), many(sums.changed)];
      const said = request.dryRun ? `${matched} found` : `${changed} ${way.done}`;
      const reached = way.reached(sums);
      if (reached !== undefined) progress.show(`${reached}: ${said}`);
    });
  } catch (error) {
    tellWayOn();
    throw error;
  } finally {
    isRunning = false;
    progress.clear();
  }
}

/** What an interrupted change has done, and how to go on. `undefined`: the command may be run again as it is. */
function wayOn<Request extends Asked, Result extends Sums>(
  { done, flags, again }: Way<Request, Result>,
  request: Request,
  last: Result | undefined,
): string | undefined {
  const cursor = last?.cursor ?? request.cursor;
  const flag = cursor === undefined ? again : `--cursor ${cursor}`;
  if (flag === undefined || request.dryRun) return undefined;
  const soFar =
    last === undefined && cursor === undefined ? "no answer" : `${many(last?.changed ?? 0)} ${done}`;
  return `${soFar}; to continue, run the same command with ${flags(request)}${flag}`;
}

/** How much of its range a bulk has examined, in percent. */
function shareOf({ from, to, reached }: BulkResult): number {
  const [begin, end, at] = [Date.parse(from), Date.parse(to), Date.parse(reached)];
  return Math.floor((100 * (at - begin)) / (end - begin));
}

function leftOf({ skipped }: Sums): number {
  return Object.values(skipped).reduce((sum, count) => sum + count, 0);
}

function reasonsOf(skipped: Readonly<Record<string, number>>): string {
  return Object.entries(skipped)
    .map(([code, count]) => `${count.toLocaleString("en")} ${code}`)
    .join(", ");
}
