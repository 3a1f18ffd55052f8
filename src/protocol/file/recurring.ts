import { isDeepStrictEqual } from "node:util";
import { EVENT_AFTER, SCHEDULE_INPUT_BYTES } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { type Occurrence, occurrenceInput, type Schedule, storedInput } from "../../core/occurrence.ts";
import type { Recurrence } from "../../cron/expression.ts";
import { inParallel } from "../../general/batches.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import type { Context, Schedules } from "../ports.ts";
import { enqueue } from "./enqueue.ts";
import { enqueueCounted } from "./filing-limit.ts";

const TRIES = 5;
const WIDTH = 8;
const MINUTE = 60_000;

/** A schedule to put. Times are ms since the epoch. */
export type NewSchedule = Omit<Schedule, "anchor" | "paused" | "createdAt">;

/**
 * Creates a recurring schedule, or replaces all its fields except `paused`. A rate without `start` counts from the whole minute after the
 * first call with this expression. A call that changes nothing writes nothing: an update would lose an occurrence that is due and not fired.
 * @throws `bad-request`, `too-large`, `unavailable`
 */
export async function putSchedule(
  ctx: Context,
  wanted: NewSchedule,
): Promise<{ outcome: "created" | "replaced"; schedule: Schedule }> {
  const schedules = schedulesOf(ctx);
  for (let i = 0; i < TRIES; i++) {
    const stored = await schedules.read(wanted.name);
    const before = stored?.schedule;
    const schedule = scheduleOf(wanted, before, ctx.clock());
    // `isAimed` is false after a deployment that has replaced what the stored schedule invokes.
    if (stored?.isAimed && isDeepStrictEqual(asStored(schedule), before))
      return { outcome: "replaced", schedule };
    const from = await firstOf(schedule, ctx.clock());
    assertFits(schedule);
    if (before) {
      if ((await schedules.update(schedule, from)) === "updated") return { outcome: "replaced", schedule };
    } else if ((await schedules.create(schedule, from)) === "created")
      return { outcome: "created", schedule };
  }
  const why = `other calls keep changing schedule ${wanted.name}; repeat the call`;
  throw new MinutehandError("unavailable", why);
}

/** Occurrences that fall into a pause are lost. @throws `schedule-not-found`; `bad-request`: a resumed schedule would never occur again */
export async function pauseSchedule(ctx: Context, name: string, paused: boolean): Promise<Schedule> {
  const before = await readSchedule(ctx, name);
  if (before.paused === paused) return before;
  const schedule = { ...before, paused };
  if (!paused) await assertComes(schedule, ctx.clock());
  const from = await startDateOf(schedule, ctx.clock());
  if ((await schedulesOf(ctx).update(schedule, from)) === "missing") throw scheduleNotFound(name);
  return schedule;
}

/** @throws `schedule-not-found` */
export async function readSchedule(ctx: Context, name: string): Promise<Schedule> {
  const stored = await schedulesOf(ctx).read(name);
  if (!stored) throw scheduleNotFound(name);
  return stored.schedule;
}

/** The jobs that the schedule has filed stay. @throws `schedule-not-found` */
export async function removeSchedule(ctx: Context, name: string): Promise<Schedule> {
  const schedule = await readSchedule(ctx, name);
  if ((await schedulesOf(ctx).remove(name)) === "missing") throw scheduleNotFound(name);
  return schedule;
}

/** A schedule that somebody removes before it is read is left out. */
export async function listSchedules(
  ctx: Context,
  limit: number,
  cursor: string | undefined,
): Promise<{ schedules: Schedule[]; cursor?: string }> {
  const schedules = schedulesOf(ctx);
  const { names, ...next } = await schedules.list(limit, cursor);
  const found = await inParallel(names, WIDTH, (name) => schedules.read(name));
  return { schedules: found.flatMap((stored) => stored?.schedule ?? []), ...next };
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
  // rule: occurrence-named-by-its-time
  // No caller's Idempotency-Key equals this token (see `applyRule`).
  const token = `§${name}§${new Date(time).toISOString()}`;
  // rule: occurrence-filed-once
  return enqueue(ctx, { ...job, dueAt: time, once: { token, hash: "occurrence", lasts: EVENT_AFTER } });
}

/** The next `count` occurrences after `now`, as if the schedule were not paused; fewer if it ends before. */
export async function nextOccurrences(schedule: Schedule, now: number, count: number): Promise<number[]> {
  const recurrence = await recurrenceOf(schedule);
  const times: number[] = [];
  let time = recurrence.next(now);
  while (time !== undefined && times.length < count) {
    times.push(time);
    time = recurrence.next(time);
  }
  return times;
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

function asStored(schedule: Schedule): Schedule {
  return { ...schedule, ...storedInput(occurrenceInput(schedule)) };
}

/** @throws `bad-request`: the schedule never occurs, or an `at(…)` has a start or an end */
async function firstOf(schedule: Schedule, now: number): Promise<number | undefined> {
  const { expression, start, end } = schedule;
  if (expression.startsWith("at(") && (start !== undefined || end !== undefined)) {
    throw new MinutehandError(
      "bad-request",
      "start and end must be given for cron and rate only: at(…) occurs once",
    );
  }
  await assertComes(schedule, now);
  return startDateOf(schedule, now);
}

async function assertComes(schedule: Schedule, now: number): Promise<void> {
  if ((await nextOccurrences(schedule, now, 1)).length > 0) return;
  throw new MinutehandError(
    "bad-request",
    `expression must have an occurrence after ${new Date(now).toISOString()}, within start and end if given, got ` +
      JSON.stringify(schedule.expression),
  );
}

/** The start date for Scheduler, at most five minutes past. A rate gets its next occurrence: the same times follow. */
async function startDateOf(schedule: Schedule, now: number): Promise<number | undefined> {
  const { expression, start } = schedule;
  if (expression.startsWith("rate(")) return (await nextOccurrences(schedule, now, 1))[0];
  return expression.startsWith("cron(") && start !== undefined && start > now ? start : undefined;
}

async function recurrenceOf({ expression, timezone, anchor, start, end }: Schedule): Promise<Recurrence> {
  // The code of calendars is large, and most functions never load it.
  const { parseExpression } = await import("../../cron/expression.ts");
  try {
    return parseExpression(expression, {
      timezone,
      anchor,
      ...(start === undefined ? {} : { start }),
      ...(end === undefined ? {} : { end }),
    });
  } catch (error) {
    if (error instanceof RangeError) throw new MinutehandError("bad-request", error.message, {}, error);
    throw error;
  }
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

function schedulesOf({ schedules }: Context): Schedules {
  if (!schedules)
    throw new MinutehandError("unavailable", "this function has no access to EventBridge Scheduler");
  return schedules;
}

function scheduleNotFound(name: string): MinutehandError {
  return new MinutehandError("schedule-not-found", `there is no schedule ${name}`, { name });
}
