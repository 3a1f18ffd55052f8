import { AUDIT_AFTER, BATCH_PATIENCE, WRITER_DEADLINE } from "../../core/constants.ts";
import { type Home, isNear, startsAt } from "../../core/home.ts";
import { homeKey } from "../../core/item-keys.ts";
import type { Parked } from "../../core/items.ts";
import { type GivenStart, moveToStarts, noteStarts, type StartOutcome } from "../gate/given-starts.ts";
import { endExpired } from "../gate/if-late.ts";
import { removeNotes } from "../gate/park.ts";
import type { Context, Deadline } from "../ports.ts";
import { fileLooksAtUnsent, sendNow } from "../send/send.ts";
import type { ReleaseStep } from "./find-starts.ts";
import type { Release } from "./release-state.ts";

/** How long a release tries to write a home: ms. Meanwhile the starts of other jobs pass. */
const PATIENCE = 10_000;

/** SQS may take these messages in a minute. */
const TRIED_AGAIN: ReadonlySet<string> = new Set(["unreachable", "failing"]);

/** Writes starts, sends messages, and deletes notes last, so that a crash loses no job. Ends expired jobs. Answers how many got a start. */
export async function releaseJobs(ctx: Context, run: Release, step: ReleaseStep): Promise<number> {
  const { given, toSend, expired, done } = step;
  const begun = ctx.clock();
  const over = expired.map(({ home }) => home);
  const recorded = await endExpired(ctx, run.topic, over, begun + PATIENCE);
  const ended = expired.filter((_, i) => recorded[i] === "changed");
  const holds = given.map(({ hold }) => hold);
  const outcomes = await recordStarts(ctx, run, holds);
  const started = outcomes.flatMap((outcome) => (outcome.is === "given" ? outcome.home : []));
  const untaken = await sendStarted(ctx, run, toSend, started, begun + WRITER_DEADLINE);
  const isHandled = (outcome: StartOutcome): boolean =>
    outcome.is === "given" ? !untaken.has(outcome.home) : outcome.is === "changed";
  const handled = given.filter((_, i) => isHandled(outcomes[i] as StartOutcome));
  await removeByPartition(ctx, run, [...done, ...[...handled, ...ended].flatMap((job) => job.notes)]);
  if (started.length > 0) ctx.report({ type: "released", topic: run.topic, jobs: started.length });
  // From now on the release passes over these.
  const unwritten = [
    ...given.flatMap(({ hold }, i) => (outcomes[i]?.is === "unknown" ? hold.home : [])),
    ...expired.flatMap(({ home }, i) => (recorded[i] instanceof Error ? home : [])),
  ];
  for (const { id } of unwritten) run.sick.add(homeKey(id).pk);
  return started.length;
}

/** A sweep sends jobs that are not near. Answers the jobs whose messages SQS has not taken, and may take later. */
async function sendStarted(
  ctx: Context,
  run: Release,
  toSend: readonly Home[],
  started: readonly Home[],
  by: Deadline,
): Promise<ReadonlySet<Home>> {
  const near = [...toSend, ...started].filter((home) => isNear(startsAt(home), ctx.clock()));
  const sent = await sendNow(ctx, near, by);
  const untaken = new Set(near.filter(({ id }) => TRIED_AGAIN.has(sent.get(id)?.outcome ?? "sent")));
  if (untaken.size > 0) run.isClosed = true;
  // Such a job gets another start from the next tick.
  const hasNote = (home: Home): boolean => untaken.has(home) && started.includes(home);
  await fileLooksAtUnsent(
    ctx,
    near.filter((home) => !hasNote(home)),
    sent,
  );
  return untaken;
}

/** A start that the home says already is not written. */
async function recordStarts(
  ctx: Context,
  run: Release,
  holds: readonly GivenStart[],
): Promise<StartOutcome[]> {
  const now = ctx.clock();
  const outcomes = new Map<GivenStart, StartOutcome>(
    holds.map((one) => [one, { is: "given", home: one.home }]),
  );
  // A move makes older messages void, which may lie in the queue after a pause, and files a look, which the job needs if its start is not near,
  // or if the audit has passed its last look.
  const isMove = ({ home, until }: GivenStart): boolean =>
    run.pause !== undefined || !isNear(until, now) || now - startsAt(home) >= AUDIT_AFTER;
  const moves = holds.filter(isMove);
  const isNoted = ({ home, until }: GivenStart): boolean =>
    until > startsAt(home) || home.heldUntil !== undefined;
  const noted = holds.filter((one) => !isMove(one) && isNoted(one));
  for (const [i, outcome] of (await moveToStarts(ctx, moves, PATIENCE)).entries())
    outcomes.set(moves[i] as GivenStart, outcome);
  for (const [i, outcome] of (await noteStarts(ctx, noted, PATIENCE)).entries())
    outcomes.set(noted[i] as GivenStart, outcome);
  return holds.map((one) => outcomes.get(one) as StartOutcome);
}

/** Each partition by itself if they cannot be removed together. */
async function removeByPartition(ctx: Context, run: Release, notes: readonly Parked[]): Promise<void> {
  if (await removeNotes(ctx, run.topic, notes)) return;
  const partitions = [...Map.groupBy(notes, ({ pk }) => pk)];
  await Promise.all(
    partitions.map(async ([pk, those]) => {
      try {
        await ctx.pool.remove(those, ctx.clock() + BATCH_PATIENCE);
      } catch {
        // Reported before. At its end the release throws, and names the sick partitions.
        run.sick.add(pk);
      }
    }),
  );
}
