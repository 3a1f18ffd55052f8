import { actorOf } from "../../core/actor.ts";
import { BATCH_PATIENCE } from "../../core/constants.ts";
import type { Head, Home } from "../../core/home.ts";
import { heldUntilOf, isPastExpiry, lateWhenAsked, type MessageJob, startOf } from "../../core/message.ts";
import { changeOf } from "../../core/states.ts";
import { inParallel } from "../../general/batches.ts";
import { endAt } from "../policy.ts";
import type { Context, Deadline } from "../ports.ts";
import { releaseKey } from "../store/keys.ts";
import { changeApart } from "../store/write-apart.ts";
import { lateSince, type TopicNow } from "./known-pauses.ts";

/** A job whose message came too late. `state`: how the job ends. */
export type TooLate = { job: MessageJob; state: "expired" | "cancelled"; why: string };

export function findExpired(jobs: readonly MessageJob[], now: number): TooLate[] {
  return jobs.flatMap((job): TooLate[] =>
    isPastExpiry(job, now) ? [{ job, state: "expired", why: whyExpired(job.expiresAt ?? "") }] : [],
  );
}

/**
 * Jobs that are later than their topic's `ifLate` allows, counted from `lateSince`. If a job was late already when somebody asked for it, that
 * time counts too.
 */
export function findTooLate(topicNow: TopicNow, jobs: readonly MessageJob[], now: number): TooLate[] {
  const { ifLate } = topicNow.policy;
  if (!ifLate) return [];
  return jobs.flatMap((job) => {
    // rule: late-since-the-last-start
    const late = now - lateSince(topicNow, startOf(job)) + lateWhenAsked(job);
    if (late <= ifLate.after * 1000) return [];
    const why = `it would have started ${late / 1000} s late, and its topic allows ${ifLate.after} s`;
    return { job, state: ifLate.do === "skip" ? "cancelled" : "expired", why };
  });
}

/** How many keys are written at once: after an outage a page may have hundreds of ended jobs. */
const KEYS_AT_ONCE = 8;

/** `refused`: the job has changed since the caller read it or its message. */
type Recorded = ("changed" | "refused" | Error)[];

/** Ends jobs whose homes are as their messages say. */
export function endTooLate(
  ctx: Context,
  topic: string,
  late: readonly TooLate[],
  by: Deadline,
): Promise<Recorded> {
  const ends = late.map(({ job: { id, revision, key, sentAt, ...job }, state, why }): LateChange => {
    const sent = sentAt === undefined ? {} : { sentAt: Date.parse(sentAt) };
    return {
      job: { id, revision, heldUntil: heldUntilOf(job), ...(key !== undefined && { key }) },
      state,
      why,
      more: sent,
    };
  });
  return recordEnds(ctx, topic, ends, by);
}

/** Ends expired jobs without sending them: after an outage their messages would lie before those of jobs that have a start. */
export function endExpired(
  ctx: Context,
  topic: string,
  expired: readonly Head[],
  by: Deadline,
): Promise<Recorded> {
  const ends = expired.map((job): LateChange => {
    const startBy = new Date(job.wantedAt + (job.expiresAfter ?? 0)).toISOString();
    return { job, state: "expired", why: whyExpired(startBy), more: {} };
  });
  return recordEnds(ctx, topic, ends, by);
}

function whyExpired(startBy: string): string {
  return `it was to start by ${startBy}`;
}

type LateChange = Pick<TooLate, "state" | "why"> & {
  readonly job: Pick<Home, "id" | "revision" | "key"> & { readonly heldUntil?: number | undefined };
  readonly more: Pick<Home, "sentAt">;
};

async function recordEnds(
  ctx: Context,
  topic: string,
  ends: readonly LateChange[],
  by: Deadline,
): Promise<Recorded> {
  if (ends.length === 0) return [];
  const now = ctx.clock();
  const end = endAt(ctx, now);
  const outcomes = await changeApart(
    ctx,
    ends.map(({ job, state, why, more }) => {
      // A job with another `heldUntil` was given a new start, which has a message of its own.
      const set = { ...end, lastError: why, ...more };
      if (state === "expired") return changeOf("expire", job, set);
      // rule: late-job-ends-only-while-it-waits
      return changeOf("skip", job, { ...set, cancelledBy: actorOf("topic") });
    }),
    by,
  );
  const ended = ends.filter((_, i) => outcomes[i] === "changed");
  await inParallel(ended, KEYS_AT_ONCE, async ({ job, state }) => {
    await releaseKey(ctx, { ...job, topic }, end.expiresAt, ctx.clock() + BATCH_PATIENCE);
    ctx.report({ type: state === "expired" ? "expired" : "skipped", topic, id: job.id });
  });
  return outcomes;
}
