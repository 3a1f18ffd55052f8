import { type Head, type Home, stateAt } from "../core/home.ts";
import { keptOptionsOf, optionsInSeconds } from "../core/job-options.ts";
import { scheduleIn } from "../core/once.ts";
import { unreadableError } from "../core/readable.ts";
import { type Happening, hasLostEvents, timelineOf } from "../core/timeline.ts";
import { iso } from "../general/times.ts";
import type { Enqueued } from "../protocol/new-job.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import type { Wait } from "../protocol/read/waits.ts";
import type { JobJson, JobSummary } from "./answers/jobs.ts";
import type { Answer } from "./route.ts";

/** A job without its body, in its present state. */
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
    ...optionsInSeconds(keptOptionsOf(home)),
    maxAttempts: home.maxAttempts ?? policyOf(ctx, topic).maxAttempts,
    createdAt: iso(home.createdAt),
    ...(home.once === undefined ? {} : scheduleIn(home.once)),
    ...heldOf(home),
    ...(home.postponeUntil === undefined ? {} : { postponeUntil: iso(home.postponeUntil) }),
    ...(home.claimedAt === undefined ? {} : { claimedAt: iso(home.claimedAt) }),
    ...(home.finishedAt === undefined ? {} : { finishedAt: iso(home.finishedAt) }),
    ...(state === "running" && home.leaseEnd !== undefined ? { leaseUntil: iso(home.leaseEnd) } : {}),
    ...(lastError === undefined ? {} : { lastError }),
  };
}

/** Empty if the job is not late, is not held and waits for no retry, or if that was not asked. */
export function waitJson(wait: Wait | undefined): Pick<JobSummary, "held" | "retrying" | "lateSince"> {
  if (wait === undefined) return {};
  return wait.is === "late" ? { lateSince: iso(wait.since) } : { [wait.is]: true };
}

/** Empty if the job never waited for a pause, a limit or a window. */
function heldOf({ dueAt, heldUntil = dueAt }: Head): Pick<JobSummary, "heldUntil"> {
  return heldUntil > dueAt ? { heldUntil: iso(heldUntil) } : {};
}

/** `parseJson` has checked the numbers of the body, so `JSON.parse` alters none. */
export function jobJson(ctx: Context, home: Home): JobJson {
  return {
    ...summaryOf(ctx, home),
    body: storedBody(home),
    timeline: timelineOf(home).map(happeningOf),
    ...(hasLostEvents(home) && { earlierEventsDropped: true }),
  };
}

function happeningOf(happening: Happening): JobJson["timeline"][number] {
  const { what, at, attempt, dueAt, until, by, late, error } = happening;
  return {
    at: iso(at),
    event: what,
    ...(attempt === undefined ? {} : { attempt }),
    ...(dueAt === undefined ? {} : { dueAt: iso(dueAt) }),
    ...(until === undefined ? {} : { heldUntil: iso(until) }),
    ...(by === undefined ? {} : { by }),
    ...(late === undefined ? {} : { lateness: late / 1000 }),
    ...(error === undefined ? {} : { error }),
  };
}

/** The error of `JSON.parse` would quote a damaged body. */
function storedBody({ id, body }: Home): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw unreadableError({ id, unreadable: "its body is not JSON" });
  }
}

export const FILED_HEADERS = ["Location", "Idempotent-Replayed"] as const;

/** 201 for a new job and for each repeat (`replayed`), 200 if the key had a live job. */
export function statusOf({ outcome }: Enqueued): 200 | 201 {
  return outcome === "created" || outcome === "replayed" ? 201 : 200;
}

export function filed(ctx: Context, enqueued: Enqueued): Answer {
  const { outcome, home } = enqueued;
  const replayed = outcome === "replayed" ? { "idempotent-replayed": "true" } : {};
  return {
    status: statusOf(enqueued),
    body: { ...jobJson(ctx, home), outcome },
    headers: { location: `/jobs/${home.id}`, ...replayed },
  };
}
