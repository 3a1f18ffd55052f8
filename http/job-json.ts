import { stateAt } from "../core/home.ts";
import type { Head, Home } from "../core/items.ts";
import { keptOptionsOf } from "../core/job-options.ts";
import { type Happening, timelineOf } from "../core/timeline.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import type { JobJson, JobSummary } from "./answers.ts";
import { iso } from "./instants.ts";
import { answerOf } from "./job-options.ts";

/** A job without its body, as it is at this moment. */
export function summaryOf(ctx: Context, home: Head): JobSummary {
  const { id, topic, key, revision, attempt, lastError } = home;
  const state = stateAt(home, ctx.clock());
  return {
    id,
    topic,
    ...(key === undefined ? {} : { key }),
    state,
    dueAt: iso(home.dueAt),
    revision,
    attempt,
    ...answerOf(keptOptionsOf(home)),
    maxAttempts: home.maxAttempts ?? policyOf(ctx, topic).maxAttempts,
    createdAt: iso(home.createdAt),
    ...heldOf(home),
    ...(home.postponeUntil === undefined ? {} : { postponeUntil: iso(home.postponeUntil) }),
    ...(home.claimedAt === undefined ? {} : { claimedAt: iso(home.claimedAt) }),
    ...(home.finishedAt === undefined ? {} : { finishedAt: iso(home.finishedAt) }),
    ...(state === "running" && home.leaseEnd !== undefined ? { leaseUntil: iso(home.leaseEnd) } : {}),
    ...(lastError === undefined ? {} : { lastError }),
  };
}

/** Only of one that waits, or waited, for nothing else. */
function heldOf({ heldFrom, heldUntil }: Head): Pick<JobSummary, "heldFrom" | "heldUntil"> {
  if (heldFrom === undefined || heldUntil === undefined || heldUntil <= heldFrom) return {};
  return { heldFrom: iso(heldFrom), heldUntil: iso(heldUntil) };
}

/** A whole job. The text that is stored was written by `toJson`, its numbers checked, so parsing alters nothing. */
export function jobOf(ctx: Context, home: Home): JobJson {
  return { ...summaryOf(ctx, home), body: storedBody(home), timeline: timelineOf(home).map(happeningOf) };
}

function happeningOf({ what, at, attempt, dueAt, late, error }: Happening): JobJson["timeline"][number] {
  return {
    at: iso(at),
    event: what,
    ...(attempt === undefined ? {} : { attempt }),
    ...(dueAt === undefined ? {} : { dueAt: iso(dueAt) }),
    ...(late === undefined ? {} : { lateness: late / 1000 }),
    ...(error === undefined ? {} : { error }),
  };
}

/** Of a pool that somebody wrote to by hand: JSON.parse's own error would quote the body in a log. */
function storedBody({ id, body }: Home): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Error(`the stored body of job ${id} is no JSON`);
  }
}
