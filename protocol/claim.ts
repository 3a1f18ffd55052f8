import { inParallel } from "../core/batches.ts";
import { UNREADABLE_WAIT, WRITER_DEADLINE } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { hasCrashed, isFinished, isNear, isRunning, startsAt } from "../core/home.ts";
import { type Home, homeKey } from "../core/items.ts";
import { drawToken } from "../core/job-id.ts";
import { type MessageJob, startOf } from "../core/message.ts";
import { isUnreadable, type Unreadable } from "../core/readable.ts";
import type { DropReason } from "./events.ts";
import { endTooLate, findTooLate } from "./if-late.ts";
import { parkCarried } from "./park.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { isSeenTo, send } from "./send.ts";
import { settleCrash } from "./settle.ts";
import { reportUnreadable } from "./unreadable.ts";

/**
 * What a message's claim of one job came to. `claimed`: run it. `void`: this message has nothing to say about
 * it any more. `left`: another run holds it; the message must stay, invisible, until `until` (ms).
 */
export type Verdict =
  | { verdict: "claimed"; token: string; leaseEnd: number; claimedAt: number }
  | { verdict: "void" }
  | { verdict: "left"; until: number };

const REPEAT_AFTER = 5_000;

/**
 * Takes jobs before they run, in one batch: a revision is claimed at most once, never over another claim.
 * `jobs` names no job twice. `leaseEnd`, ms since the epoch, is when the runner is dead for certain, or else looks
 * at the clock itself before a job is started. Those of a paused topic are parked instead. Throws when the pool does
 * not say whether it is paused: nothing is claimed then.
 */
export async function claim(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  leaseEnd: number,
): Promise<Verdict[]> {
  const claimedAt = ctx.clock();
  const by = Math.min(claimedAt + WRITER_DEADLINE, leaseEnd);
  const verdicts = new Map<string, Verdict>();
  const parked = await parkCarried(ctx, topic, jobs);
  for (const id of parked) {
    verdicts.set(id, { verdict: "void" });
    ctx.report({ type: "dropped", topic, id, reason: "paused" });
  }
  const unparked = jobs.filter(({ id }) => !parked.has(id));
  const late = await findTooLate(ctx, topic, unparked, claimedAt);
  const ended = await endTooLate(ctx, topic, late, by);
  for (const [i, { job }] of late.entries()) {
    const outcome = ended[i];
    if (outcome === "changed") verdicts.set(job.id, { verdict: "void" });
    // What was refused takes the claim's way, which finds out why; what is unknown must not run, and comes again.
    else if (outcome !== "refused")
      verdicts.set(job.id, { verdict: "left", until: claimedAt + REPEAT_AFTER });
  }

  const runnable = jobs.filter((job) => !verdicts.has(job.id));
  const tokens = new Map(runnable.map((job) => [job.id, drawToken(ctx.random)]));
  const outcomes = await ctx.pool.changeMany(
    runnable.map((job) => ({
      key: homeKey(job.id),
      expect: { revision: job.revision, state: "scheduled" },
      set: {
        state: "running",
        token: tokens.get(job.id) ?? "",
        leaseEnd,
        claimedAt,
        attempt: job.attempt,
        ...(job.sentAt === undefined ? {} : { sentAt: Date.parse(job.sentAt) }),
      },
    })),
    by,
  );
  const refused: MessageJob[] = [];
  for (const [i, job] of runnable.entries()) {
    const outcome = outcomes[i];
    if (outcome === "changed") {
      verdicts.set(job.id, { verdict: "claimed", token: tokens.get(job.id) ?? "", leaseEnd, claimedAt });
    } else {
      if (outcome instanceof Error) {
        ctx.report({ type: "trouble", topic, what: "claiming a job", error: outcome.message });
      }
      // Unknown is looked at like refused: it may have been applied.
      refused.push(job);
    }
  }
  try {
    await meet(ctx, topic, refused, tokens, leaseEnd, claimedAt, verdicts);
  } catch (error) {
    // What was claimed must run all the same, or it would burn an attempt.
    ctx.report({ type: "trouble", topic, what: "looking at refused claims", error: messageOf(error) });
  }
  return jobs.map((job) => verdicts.get(job.id) ?? { verdict: "left", until: claimedAt + REPEAT_AFTER });
}

/** What stands where a claim was refused. */
async function meet(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  tokens: ReadonlyMap<string, string>,
  leaseEnd: number,
  claimedAt: number,
  verdicts: Map<string, Verdict>,
): Promise<void> {
  const homes = await readHomes(
    ctx,
    jobs.map((job) => job.id),
  );
  const now = ctx.clock();
  const waiting: Home[] = [];
  const crashed: { job: MessageJob; home: Home }[] = [];
  const unreadable: Unreadable[] = [];
  const drop = (job: MessageJob, reason: DropReason): void => {
    verdicts.set(job.id, { verdict: "void" });
    ctx.report({ type: "dropped", topic, id: job.id, reason });
  };
  for (const [i, job] of jobs.entries()) {
    const home = homes[i];
    if (!home) drop(job, "gone");
    else if (isUnreadable(home)) {
      // A newer version has it in hand. The message serves if that one does not come back; the later it is, the longer it waits.
      const late = Math.min(Math.max(now - startOf(job), REPEAT_AFTER), UNREADABLE_WAIT.longest);
      verdicts.set(job.id, { verdict: "left", until: now + late });
      unreadable.push(home);
    } else if (home.state === "running" && home.token === tokens.get(job.id)) {
      // Our own claim, whose answer was lost.
      verdicts.set(job.id, { verdict: "claimed", token: home.token ?? "", leaseEnd, claimedAt });
    } else if (isFinished(home)) drop(job, home.state === "expired" ? "expired" : "finished");
    else if (home.revision !== job.revision) {
      // Whoever moved it may have died before sending.
      if (home.state === "scheduled" && isNear(startsAt(home), now)) waiting.push(home);
      drop(job, "moved");
    } else if (isRunning(home, now)) {
      verdicts.set(job.id, { verdict: "left", until: home.leaseEnd ?? now });
      ctx.report({ type: "dropped", topic, id: job.id, reason: "running" });
    } else if (hasCrashed(home, now)) crashed.push({ job, home });
  }
  reportUnreadable(ctx, "claiming jobs", unreadable);
  await inParallel(crashed, 8, async ({ job, home }) => {
    try {
      await settleCrash(ctx, home);
      drop(job, "crashed");
    } catch (error) {
      ctx.report({ type: "trouble", topic, what: "settling a crashed run", error: messageOf(error) });
    }
  });
  const sent = await send(ctx, waiting);
  for (const home of waiting) {
    // The message in hand is the only one certain to come back.
    if (!isSeenTo(sent.get(home.id))) verdicts.set(home.id, { verdict: "left", until: now + REPEAT_AFTER });
  }
}
