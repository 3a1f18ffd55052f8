import type { BulkRequest, BulkResult } from "../sdk/client.ts";
import { CliError, UsageError } from "./cli-error.ts";
import type { Caution } from "./selection.ts";
import type { Session } from "./session.ts";
import { many } from "./words.ts";

type Words = { readonly verb: string; readonly done: string };

/** What is said of each action: before it, and after. */
const WORDS: Readonly<Record<BulkRequest["action"], Words>> = {
  cancel: { verb: "cancel", done: "cancelled" },
  move: { verb: "move", done: "moved" },
  run: { verb: "run now", done: "set to run now" },
  redrive: { verb: "redrive", done: "redriven" },
};

/**
 * Changes many jobs, after they were counted and somebody agreed. Throws `UsageError` where nobody can be asked and
 * `--yes` is not given, `CliError` if it is not wanted, and once all is done if some could not be changed.
 */
export async function changeMany(session: Session, request: BulkRequest, caution: Caution): Promise<void> {
  const { verb } = WORDS[request.action];
  if (caution.yes) return change(session, request);
  if (!caution.dryRun && !session.isAttended) {
    throw new UsageError(`this would ${verb} many jobs: add --yes, or --dry-run to count them first`);
  }
  const counted = await run(session, { ...request, dryRun: true });
  const changeable = counted.matched - leftOf(counted);
  const question = `${verb} ${many(changeable)} of ${request.topic} due ${rangeOf(counted)}`;
  if (caution.dryRun) {
    await (session.output.json ? session.output.document(counted) : session.output.line(`would ${question}`));
    return;
  }
  if (changeable === 0) return session.output.note(`no job to ${verb}, due ${rangeOf(counted)}`);
  if (!(await session.confirm(`${question}?`)))
    throw new CliError(`nothing was ${WORDS[request.action].done}`);
  // As it was counted, though now has moved on.
  await change(session, { ...request, from: counted.from, to: counted.to });
}

async function change(session: Session, request: BulkRequest): Promise<void> {
  const { output } = session;
  const result = await run(session, request);
  const done = `${WORDS[request.action].done} ${many(result.changed)} of ${request.topic} due ${rangeOf(result)}`;
  await (output.json ? output.document(result) : output.line(done));
  for (const { id, problem } of result.errors) output.note(`${id}: ${problem.detail}`);
  const left = leftOf(result);
  if (left > 0) throw new CliError(`${many(left)} stay as they were: ${JSON.stringify(result.skipped)}`);
}

async function run({ client, progress }: Session, request: BulkRequest): Promise<BulkResult> {
  const api = await client();
  try {
    return await api.bulk(request, (sums) => {
      const [from, to, reached] = [sums.from, sums.to, sums.reached].map((time) => Date.parse(time));
      const share = Math.floor((100 * ((reached ?? 0) - (from ?? 0))) / ((to ?? 0) - (from ?? 0)));
      const what = request.dryRun ? "found" : WORDS[request.action].done;
      progress.show(`${share} %: ${many(request.dryRun ? sums.matched : sums.changed)} ${what}`);
    });
  } finally {
    progress.clear();
  }
}

/** How many could not be changed. */
function leftOf({ skipped }: BulkResult): number {
  return Object.values(skipped).reduce((sum, count) => sum + count, 0);
}

function rangeOf({ from, to }: BulkResult): string {
  return `from ${from} to ${to}`;
}
