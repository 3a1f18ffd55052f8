import { UNREADABLE_WAIT } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { isBeyondBound, isFinished, isRunning, startsAt } from "../../core/home.ts";
import type { Home, HomeIn } from "../../core/items.ts";
import {
  heldUntilOf,
  jobText,
  type MessageJob,
  messageText,
  parseMessage,
  startOf,
} from "../../core/message.ts";
import type { Unreadable } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import { hasUsableStart, startsOutsideWindow } from "../gate/start-gate.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import type { DropReason } from "../reports.ts";
import { readHomesApart } from "../store/read-job.ts";
import { reportUnreadable } from "../store/unreadable.ts";
import { giveClaimBack, settleCrash } from "./settle.ts";
import { dropJob, REPEAT_AFTER, type Verdict } from "./verdict.ts";

export type Refused = {
  /** Jobs to be claimed in the revision that their homes have now, although their messages are void. */
  readonly renewable: readonly MessageJob[];
  /** Runs to be settled as crashed. */
  readonly crashed: readonly { readonly job: MessageJob; readonly home: HomeIn<"running"> }[];
};

/**
 * Reads jobs whose claims were refused, and gives the jobs their verdicts.
 * @param tokens of the claims, by the jobs' ids
 * @param take called with each job that was claimed although the answer was lost
 * @param canRenew whether a void message may claim its job in the revision that the home has now
 */
export async function readRefused(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  tokens: ReadonlyMap<string, string>,
  take: (job: MessageJob) => void,
  verdicts: Map<string, Verdict>,
  canRenew: boolean,
): Promise<Refused> {
  const reads = await readHomesApart(ctx, jobs);
  const now = ctx.clock();
  const renewable: MessageJob[] = [];
  const crashed: { job: MessageJob; home: HomeIn<"running"> }[] = [];
  const unreadable: Unreadable[] = [];
  const drop = (job: MessageJob, reason: DropReason): void => dropJob(ctx, topic, job, reason, verdicts);
  for (const [job, read] of reads) {
    // The job gets no verdict here, so its message comes again soon.
    if (read.is === "unknown") continue;
    if (read.is === "unreadable") {
      // A newer version takes care of the job. The message is kept in case no process of that version comes back. The later the job is,
      // the longer its message waits.
      const late = Math.min(Math.max(now - startOf(job), REPEAT_AFTER), UNREADABLE_WAIT.longest);
      verdicts.set(job.id, { verdict: "left", until: now + late });
      unreadable.push(read.home);
      continue;
    }
    // No untracked job comes here, because nobody claims it.
    if (read.is === "nothing") {
      drop(job, "gone");
      continue;
    }
    const home = read.value;
    // rule: claim-knows-its-own-token
    if (home.state === "running" && home.token === tokens.get(job.id)) take(job);
    else if (isFinished(home)) drop(job, home.state === "expired" ? "expired" : "finished");
    else if (home.revision !== job.revision && !isOfVoidMessage(home)) {
      const current = canRenew && isDueByBound(ctx, home) ? messageJobOf(home) : undefined;
      if (current) {
        renewable.push(current);
        continue;
      }
      drop(job, "moved");
    } else if (isRunning(home, now)) {
      verdicts.set(job.id, { verdict: "left", until: home.leaseEnd ?? now });
      ctx.report({ type: "dropped", topic, id: job.id, reason: "running" });
    }
    // rule: claim-settles-a-crashed-run
    else if (home.state === "running") crashed.push({ job, home });
    // The job was given another start since this message was sent, and the process that gave it also sends a message.
    else if (heldUntilOf(job) !== home.heldUntil) drop(job, "moved");
  }
  reportUnreadable(ctx, "claiming jobs", unreadable);
  return { renewable, crashed };
}

/** Settles crashed runs. A failure is only reported: the message comes again. */
export async function settleCrashes(
  ctx: Context,
  topic: string,
  { crashed }: Refused,
  verdicts: Map<string, Verdict>,
): Promise<void> {
  await inParallel(crashed, 8, async ({ job, home }) => {
    try {
      await settleCrash(ctx, home);
      dropJob(ctx, topic, job, "crashed", verdicts);
    } catch (error) {
      ctx.report({ type: "trouble", topic, what: "settling a crashed run", error: messageOf(error) });
    }
  });
}

/** Looks at claims for which DynamoDB gave no answer. Gives applied claims back: the consumer has gone on to other jobs. */
export async function giveBackUnknown(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  tokens: ReadonlyMap<string, string>,
  verdicts: Map<string, Verdict>,
): Promise<void> {
  const claimed: MessageJob[] = [];
  const take = (job: MessageJob): void => void claimed.push(job);
  const refused = await readRefused(ctx, topic, jobs, tokens, take, verdicts, false);
  const giveBack = inParallel(claimed, 8, async ({ id, attempt }) => {
    const held = { id, topic, attempt, token: tokens.get(id) ?? "" };
    if ((await giveClaimBack(ctx, held)) === "settled") verdicts.set(id, { verdict: "void" });
  });
  await Promise.all([settleCrashes(ctx, topic, refused, verdicts), giveBack]);
}

/** Says whether a void message has claimed this running job. It stays until the run ends: SQS may have refused all newer messages. */
function isOfVoidMessage({ state, sentAt, postponeUntil }: Home): boolean {
  return state === "running" && sentAt === undefined && postponeUntil !== undefined;
}

/** Says whether a job's postpone bound has passed, and the topic's window and limit let it start now. */
function isDueByBound(ctx: Context, home: Home): boolean {
  const now = ctx.clock();
  const isDue = home.state === "scheduled" && isBeyondBound(home, now) && startsAt(home) <= now;
  return (
    isDue && !startsOutsideWindow(ctx, home) && (!isLimited(ctx, home.topic) || hasUsableStart(home, now))
  );
}

/** Makes the entry of a message for this job, without the time of sending. `undefined`: this code could not read the entry. */
function messageJobOf(home: Home): MessageJob | undefined {
  return parseMessage(messageText(home.topic, home.group, [jobText(home)]))?.jobs[0];
}
