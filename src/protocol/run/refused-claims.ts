import { UNREADABLE_WAIT } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Home, type HomeIn, isBeyondBound, isFinished, isRunning, startsAt } from "../../core/home.ts";
import {
  heldUntilOf,
  jobText,
  type MessageJob,
  messageText,
  parseMessage,
  startOf,
} from "../../core/message.ts";
import { inParallel } from "../../general/batches.ts";
import { hasUsableStart, startsOutsideWindow } from "../gate/start-gate.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import type { DropReason } from "../reports.ts";
import { type HomeRead, readHomesApart } from "../store/read-job.ts";
import { reportUnreadable } from "../store/unreadable.ts";
import { giveClaimBack, settleCrash } from "./settle.ts";
import { dropJob, REPEAT_AFTER, type Verdict, type Verdicts } from "./verdict.ts";

type Crashed = { readonly job: MessageJob; readonly home: HomeIn<"running"> };

export type Refused = {
  /** The answers of these claims were lost. */
  readonly claimed: readonly MessageJob[];
  /** To be claimed in the revisions of their homes, although their messages are void. */
  readonly renewable: readonly MessageJob[];
  readonly crashed: readonly Crashed[];
  /** Of the other jobs. A job in none of the four gets none: its message comes again soon. */
  readonly verdicts: Verdicts;
};

/** Reads jobs whose claims, with these `tokens`, were refused. `canRenew`: whether void messages may claim their jobs. */
export async function readRefused(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  tokens: ReadonlyMap<string, string>,
  canRenew: boolean,
): Promise<Refused> {
  const reads = await readHomesApart(ctx, jobs);
  const found = reads.map(([job, read]) => ({
    job,
    met: meetOf(ctx, job, read, tokens.get(job.id), canRenew),
  }));
  const unreadable = reads.flatMap(([, read]) => (read.is === "unreadable" ? read.home : []));
  const verdicts = found.flatMap(({ job, met }): [string, Verdict][] => {
    if (met.is === "left") {
      if (met.isRunning) ctx.report({ type: "dropped", topic, id: job.id, reason: "running" });
      return [[job.id, { verdict: "left", until: met.until }]];
    }
    return met.is === "void" ? [[job.id, dropJob(ctx, topic, job, met.reason)]] : [];
  });
  reportUnreadable(ctx, "claiming jobs", unreadable);
  return {
    claimed: found.flatMap(({ job, met }) => (met.is === "claimed" ? job : [])),
    renewable: found.flatMap(({ met }) => (met.is === "renewable" ? met.current : [])),
    crashed: found.flatMap(({ job, met }) => (met.is === "crashed" ? { job, home: met.home } : [])),
    verdicts: new Map(verdicts),
  };
}

/** `left`: the job's message comes again at `until`, ms since the epoch. */
type Met =
  | { readonly is: "claimed" | "unknown" }
  | { readonly is: "void"; readonly reason: DropReason }
  | { readonly is: "left"; readonly until: number; readonly isRunning: boolean }
  | { readonly is: "renewable"; readonly current: MessageJob }
  | { readonly is: "crashed"; readonly home: HomeIn<"running"> };

function meetOf(
  ctx: Context,
  job: MessageJob,
  read: HomeRead,
  token: string | undefined,
  canRenew: boolean,
): Met {
  const now = ctx.clock();
  if (read.is === "unknown") return { is: "unknown" };
  if (read.is === "unreadable") {
    // A newer version takes care of the job, or comes back some time. The later the job is, the longer its message waits.
    const late = Math.min(Math.max(now - startOf(job), REPEAT_AFTER), UNREADABLE_WAIT.longest);
    return { is: "left", until: now + late, isRunning: false };
  }
  // Nobody claims an untracked job.
  if (read.is === "nothing") return { is: "void", reason: "gone" };
  const home = read.value;
  // rule: claim-knows-its-own-token
  if (home.state === "running" && home.token === token) return { is: "claimed" };
  if (isFinished(home)) return { is: "void", reason: home.state === "expired" ? "expired" : "finished" };
  if (home.revision !== job.revision && !isOfVoidMessage(home)) {
    const current = canRenew && isDueByBound(ctx, home) ? messageJobOf(home) : undefined;
    return current ? { is: "renewable", current } : { is: "void", reason: "moved" };
  }
  if (isRunning(home, now)) return { is: "left", until: home.leaseEnd ?? now, isRunning: true };
  if (home.state === "running") return { is: "crashed", home };
  // Whoever gave the job another start also sends a message.
  return heldUntilOf(job) === home.heldUntil ? { is: "unknown" } : { is: "void", reason: "moved" };
}

/** A failure is only reported: the message comes again. */
export async function settleCrashes(
  ctx: Context,
  topic: string,
  crashed: readonly Crashed[],
): Promise<Verdicts> {
  const verdicts = new Map<string, Verdict>();
  await inParallel(crashed, 8, async ({ job, home }) => {
    try {
      await settleCrash(ctx, home);
      verdicts.set(job.id, dropJob(ctx, topic, job, "crashed"));
    } catch (error) {
      ctx.report({ type: "trouble", topic, what: "settling a crashed run", error: messageOf(error) });
    }
  });
  return verdicts;
}

/** DynamoDB gave no answer for these claims. Applied ones are given back: the consumer has gone on to other jobs. */
export async function giveBackUnknown(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  tokens: ReadonlyMap<string, string>,
): Promise<Verdicts> {
  const { claimed, crashed, verdicts } = await readRefused(ctx, topic, jobs, tokens, false);
  const given = new Map<string, Verdict>();
  const giveBack = inParallel(claimed, 8, async ({ id, attempt }) => {
    const run = { id, topic, attempt, token: tokens.get(id) ?? "" };
    try {
      if ((await giveClaimBack(ctx, run)) === "settled") given.set(id, { verdict: "void" });
    } catch (error) {
      ctx.report({ type: "trouble", topic, what: "giving a claim back", error: messageOf(error) });
    }
  });
  const [settled] = await Promise.all([settleCrashes(ctx, topic, crashed), giveBack]);
  return new Map([...verdicts, ...settled, ...given]);
}

/** A void message has claimed this running job. It stays until the run ends: SQS may have refused all newer messages. */
function isOfVoidMessage({ state, sentAt, postponeUntil }: Home): boolean {
  return state === "running" && sentAt === undefined && postponeUntil !== undefined;
}

/** The job's postpone bound has passed, and the topic's window and limit let it start now. */
function isDueByBound(ctx: Context, home: Home): boolean {
  const now = ctx.clock();
  const isDue = home.state === "scheduled" && isBeyondBound(home, now) && startsAt(home) <= now;
  return (
    isDue && !startsOutsideWindow(ctx, home) && (!isLimited(ctx, home.topic) || hasUsableStart(home, now))
  );
}

/** Without the time of sending. `undefined`: this code could not read the entry. */
function messageJobOf(home: Home): MessageJob | undefined {
  return parseMessage(messageText(home.topic, home.group, [jobText(home)]))?.jobs[0];
}
