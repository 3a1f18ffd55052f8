import { isDeepStrictEqual } from "node:util";
import { EVENT_AFTER, SCHEDULE_INPUT_BYTES } from "../../core/constants.ts";
import { keepsChanging, MinutehandError } from "../../core/errors.ts";
import { type Occurrence, occurrenceInput, occurrenceToken, type Schedule } from "../../core/occurrence.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { asStored, derive, schedulesOf, TRIES } from "./derive-schedule.ts";
import { enqueue } from "./enqueue.ts";
import { enqueueCounted } from "./filing-limit.ts";
import { findSchedule } from "./find-schedule.ts";
import { nextComparison, notFiled, reportMissed } from "./missed-occurrences.ts";
import { assertOccurs, expressionOf, nextOccurrences, occurrencesIn } from "./occurrences.ts";
import { markRemoved, readKept, writeKept } from "./schedule-items.ts";

const MINUTE = 60_000;
/** EventBridge Scheduler fires within a minute ("Schedule types in EventBridge Scheduler"), or within the `flexibleWindow`. */
const FIRED_WITHIN = 2 * MINUTE;
/** How many occurrences a change files: there are more only in a long `flexibleWindow`. */
const MOST_FILED = 25;

/** How many occurrences of a pause a resume counts. */
const MOST_COUNTED = 1000;

/** A schedule to put. Times are ms since the epoch. */
export type NewSchedule = Omit<Schedule, "anchor" | "paused" | "createdAt" | "declared">;

/**
 * Creates a recurring schedule, or replaces all its fields except `paused`. A rate without `start` counts from the whole minute after the
 * first call with this expression. `asked.expression` may also be crontab(5)'s. A call that changes nothing writes nothing, unless Scheduler's copy is missing or differs.
 * @throws `bad-request`, `too-large`, `unavailable`
 */
export async function putSchedule(
  ctx: Context,
  asked: NewSchedule,
): Promise<{ outcome: "created" | "replaced"; schedule: Schedule }> {
  const wanted = { ...asked, expression: expressionOf(asked.expression) };
  const { before, schedule } = await change(ctx, wanted.name, async (before) => {
    const after = scheduleOf(wanted, before, ctx.clock());
    if (before && isDeepStrictEqual(asStored(after), before)) return after;
    await assertOccurs(after, ctx.clock());
    assertFits(after);
    return after;
  });
  return { outcome: before ? "replaced" : "created", schedule };
}

/** `skippedInPause`: of a resume, how many occurrences came since the schedule was paused, or changed in its pause; at most `MOST_COUNTED`. */
export type Paused = Schedule & { readonly skippedInPause?: number };

/**
 * Pauses or resumes a schedule. Occurrences that fall into a pause are not filed. A resume reports and answers how many these are, unless the
 * schedule was not paused. @throws `schedule-not-found`; `bad-request`: a resumed schedule would never occur again
 */
export async function pauseSchedule(ctx: Context, name: string, paused: boolean): Promise<Paused> {
  const { before, since, schedule } = await change(ctx, name, async (before) => {
    if (!before) throw scheduleNotFound(name);
    const after = { ...before, paused };
    if (before.paused && !paused) await assertOccurs(after, ctx.clock());
    return after;
  });
  if (paused || !before?.paused) return schedule;
  const occurrences = await countSince(ctx, before, since);
  const { topic } = schedule.job;
  if (occurrences > 0) ctx.report({ type: "skipped-in-pause", topic, schedule: name, occurrences });
  return { ...schedule, skippedInPause: occurrences };
}

async function countSince(ctx: Context, schedule: Schedule, since: number): Promise<number> {
  const times = await nextOccurrences(schedule, since, MOST_COUNTED);
  return times.filter((time) => time <= ctx.clock()).length;
}

/** @throws `schedule-not-found` */
export async function readSchedule(ctx: Context, name: string): Promise<Schedule> {
  const kept = await readKept(ctx, name);
  // While Scheduler is down, a missed occurrence can be filed by `runSchedule`.
  if (kept?.isRemoved === false) return kept.schedule;
  const { schedule } = await findSchedule(ctx, name);
  if (!schedule) throw scheduleNotFound(name);
  return schedule;
}

/** The jobs that the schedule has filed stay. A repeat completes a deletion that Scheduler did not take. @throws `schedule-not-found` */
export async function removeSchedule(ctx: Context, name: string): Promise<Schedule> {
  schedulesOf(ctx);
  for (let i = 0; i < TRIES; i++) {
    const { kept, schedule, since } = await findSchedule(ctx, name);
    requireNotDeclared(schedule);
    const removed = schedule ?? kept?.schedule;
    if (!removed) throw scheduleNotFound(name);
    if (schedule) await fileRecent(ctx, schedule, since);
    if (!schedule || (await markRemoved(ctx, schedule, kept))) {
      await derive(ctx, name);
      return removed;
    }
  }
  throw keepsChanging(`schedule ${name}`);
}

/** Files one job of a schedule now, in addition to the schedule's occurrences. @throws `schedule-not-found`, and as `enqueue` */
export async function runSchedule(ctx: Context, name: string, once: NewJob["once"]): Promise<Enqueued> {
  const { job } = await readSchedule(ctx, name);
  // Not the topic, which may change before the repeat. No schedule's name has a space, so no occurrence's token equals this one.
  const named = once && { once: { ...once, token: `§run ${name}§${once.token}` } };
  return enqueueCounted(ctx, { ...job, spread: 0, ...named });
}

/** Idempotent for as long as the DLQ may keep the occurrence. @throws as `enqueue`; `job-not-found`: its job's retention is over */
export async function fileOccurrence(ctx: Context, { name, time, job }: Occurrence): Promise<Enqueued> {
  const token = occurrenceToken(name, time);
  // rule: occurrence-filed-once
  return enqueue(ctx, { ...job, dueAt: time, once: { token, hash: "occurrence", lasts: EVENT_AFTER } });
}

/** `since`: when the schedule became what it was before. */
type Changed = {
  readonly before: Schedule | undefined;
  readonly since: number;
  readonly schedule: Schedule;
};

/**
 * Writes the schedule's item, and then Scheduler's copy. If a call ends between both, a repeat or the tick writes the copy: see `keepSchedules`.
 * If Scheduler refuses the schedule, the item gets its former content. `make`: makes the schedule from what it was.
 */
async function change(
  ctx: Context,
  name: string,
  make: (before: Schedule | undefined) => Promise<Schedule>,
): Promise<Changed> {
  schedulesOf(ctx);
  for (let i = 0; i < TRIES; i++) {
    const { kept, schedule: before, since } = await findSchedule(ctx, name);
    requireNotDeclared(before);
    const schedule = await make(before);
    const isSame = before !== undefined && isDeepStrictEqual(asStored(schedule), before);
    // An earlier version has stored the schedule in Scheduler alone.
    const isInTable = kept?.isRemoved === false;
    if (before && !isSame) await fileRecent(ctx, before, since);
    const seen = isSame && isInTable ? kept : await writeKept(ctx, schedule, kept);
    if (!seen) continue;
    await deriveOrTakeBack(ctx, schedule, before, seen);
    return { before, since, schedule };
  }
  throw keepsChanging(`schedule ${name}`);
}

/**
 * Files the occurrences that Scheduler may not have fired yet: a change of its copy would drop them. What Scheduler has fired is filed once all the
 * same, except in an untracked topic, whose occurrences are left to Scheduler. Reports the earlier ones that are not filed: a comparison
 * sees none from before the change. `since`: when the schedule became what it is. @throws `unavailable`
 */
async function fileRecent(ctx: Context, schedule: Schedule, since: number): Promise<void> {
  const { name, paused, flexibleWindow = 0, job } = schedule;
  if (paused || policyOf(ctx, job.topic).tracking === "none") return;
  const times = await uncheckedOf(ctx, schedule, since);
  const firedBy = ctx.clock() - FIRED_WITHIN - flexibleWindow;
  const recent = times.filter((time) => time > firedBy).slice(-MOST_FILED);
  reportMissed(ctx, schedule, await notFiled(ctx, schedule, times.slice(0, times.length - recent.length)));
  for (const time of recent) {
    try {
      await fileOccurrence(ctx, { name, time, job });
    } catch (error) {
      if (!(error instanceof MinutehandError) || error.code === "unavailable") throw error;
      // Otherwise nobody could change a schedule whose topic a deployment has removed.
      if (error.code !== "job-not-found") reportMissed(ctx, schedule, [time]);
    }
  }
}

/** The occurrences up to now that no comparison has checked. None for an expression that only a newer version can read. */
async function uncheckedOf(ctx: Context, schedule: Schedule, since: number): Promise<number[]> {
  const { from } = await nextComparison(ctx);
  try {
    return await occurrencesIn(schedule, Math.max(from - (schedule.flexibleWindow ?? 0), since), ctx.clock());
  } catch (error) {
    if (error instanceof MinutehandError) return [];
    throw error;
  }
}

async function deriveOrTakeBack(
  ctx: Context,
  schedule: Schedule,
  before: Schedule | undefined,
  seen: { readonly revision: number },
): Promise<void> {
  try {
    await derive(ctx, schedule.name);
  } catch (error) {
    if (!(error instanceof MinutehandError && error.code === "bad-request")) throw error;
    await (before ? writeKept(ctx, before, seen) : markRemoved(ctx, schedule, seen));
    throw error;
  }
}

function scheduleOf(wanted: NewSchedule, before: Schedule | undefined, now: number): Schedule {
  const kept = before?.expression === wanted.expression && before.start === wanted.start;
  const minuteAfter = now - (now % MINUTE) + MINUTE;
  return {
    ...wanted,
    anchor: wanted.start ?? (kept ? before.anchor : minuteAfter),
    paused: before?.paused ?? false,
    createdAt: before?.createdAt ?? now,
  };
}

function assertFits(schedule: Schedule): void {
  const bytes = Buffer.byteLength(occurrenceInput(schedule));
  if (bytes <= SCHEDULE_INPUT_BYTES) return;
  throw new MinutehandError(
    "too-large",
    `a schedule's job must have at most ${SCHEDULE_INPUT_BYTES} bytes (256 KB) in EventBridge Scheduler, which keeps ` +
      `each < as six bytes, got ${bytes}; keep larger data in S3 and send its address`,
  );
}

/** @throws `bad-request` */
function requireNotDeclared(schedule: Schedule | undefined): void {
  if (schedule?.declared === undefined) return;
  const { name, declared } = schedule;
  throw new MinutehandError(
    "bad-request",
    `schedule ${name} must be changed where it is declared: in "schedules" of minutehand.json, or of the construct ${declared} in the app. Change it there, and deploy`,
    { name },
  );
}

function scheduleNotFound(name: string): MinutehandError {
  return new MinutehandError("schedule-not-found", `there is no schedule ${name}`, { name });
}
