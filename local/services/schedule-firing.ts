import { randomBytes } from "node:crypto";
import type { Recurrence } from "../../src/cron/expression.ts";
import { errorText } from "../local-error.ts";
import type { Clock } from "./clock.ts";
import { scheduleEvent } from "./schedule-event.ts";
import { recurrenceOf } from "./schedule-request.ts";
import {
  type PendingDelivery,
  type ScheduleStore,
  type StoredSchedule,
  scheduleKey,
} from "./schedule-store.ts";

/** The local stack's own backoff: 1 s, 2 s, 4 s … 10 min, as docs/guides/local.md promises. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 600_000;

/** How an attempt to invoke a target ended. Only a failed attempt is retried. */
export type InvokeResult = "done" | "failed" | "refused";

export type FiringOptions = {
  readonly store: ScheduleStore;
  readonly clock: Clock;
  readonly random: () => number;
  /** Invokes a target. Never rejects. */
  readonly invoke: (targetArn: string, event: unknown) => Promise<InvokeResult>;
  readonly log: (line: string) => void;
};

export type Firing = {
  readonly watch: (schedule: StoredSchedule) => void;
  readonly forget: (schedule: StoredSchedule) => void;
  /** Stops firing all schedules. Does not wait for running attempts: the next start repeats them. */
  readonly stop: () => void;
};

type Firings = FiringOptions & {
  readonly watched: Map<string, { readonly recurrence: Recurrence; cancel: () => void }>;
  readonly running: Set<PendingDelivery>;
};

/**
 * Fires at least once. An occurrence is a delivery in the store until its target was invoked, its attempts are used up or it is too old.
 * So it may be late after the runner was down, and delivered twice.
 */
export function createScheduleFiring(options: FiringOptions): Firing {
  const watched: Firings["watched"] = new Map();
  const firings: Firings = { ...options, watched, running: new Set() };
  return {
    watch: (schedule) => watch(firings, schedule),
    forget: (schedule) => forget(firings, schedule),
    stop: () => {
      for (const { cancel } of watched.values()) cancel();
      watched.clear();
    },
  };
}

function watch(firings: Firings, schedule: StoredSchedule): void {
  forget(firings, schedule);
  if (schedule.request.State === "DISABLED") return;
  const recurrence = parseOrLog(firings, schedule);
  if (!recurrence) return;
  firings.watched.set(scheduleKey(schedule.request), { recurrence, cancel: () => {} });
  fireDue(firings, schedule);
}

/** Logs a schedule that cannot be parsed: an earlier version may have accepted an expression or a time zone that this version rejects. */
function parseOrLog({ log }: Firings, { request, createdAt }: StoredSchedule): Recurrence | undefined {
  try {
    return recurrenceOf(request, createdAt);
  } catch (error) {
    log(`schedule ${scheduleKey(request)} does not fire: ${errorText(error)}; update it or delete it`);
    return undefined;
  }
}

function forget({ watched }: Firings, { request }: StoredSchedule): void {
  watched.get(scheduleKey(request))?.cancel();
  watched.delete(scheduleKey(request));
}

/** Starts the due deliveries of a schedule, and calls itself again when the next occurrence or delivery is due. */
function fireDue(firings: Firings, known: StoredSchedule): void {
  const { watched, running, clock } = firings;
  const entry = watched.get(scheduleKey(known.request));
  if (!entry) return;
  const schedule = addDueOccurrences(firings, known, entry.recurrence);
  const now = clock.now();
  const waiting = schedule.deliveries.filter((delivery) => !running.has(delivery));
  for (const delivery of waiting) if (delivery.notBefore <= now) void deliver(firings, schedule, delivery);
  const next = entry.recurrence.next(schedule.deliveredUntil);
  if (next === undefined && schedule.deliveries.length === 0) {
    complete(firings, schedule);
    return;
  }
  const times = waiting.map(({ notBefore }) => notBefore).filter((time) => time > now);
  const time = Math.min(next ?? Infinity, ...times);
  entry.cancel();
  if (time < Infinity) entry.cancel = clock.callAt(time, () => fireDue(firings, reread(firings, schedule)));
}

/** Stores the due occurrences before any of them starts, so that a crash loses none. Answers the schedule with them. */
function addDueOccurrences(
  { store, clock, random }: Firings,
  schedule: StoredSchedule,
  recurrence: Recurrence,
): StoredSchedule {
  const now = clock.now();
  const { FlexibleTimeWindow, Target } = schedule.request;
  const windowMs = (FlexibleTimeWindow.MaximumWindowInMinutes ?? 0) * 60_000;
  const ageMs = Target.RetryPolicy.MaximumEventAgeInSeconds * 1000;
  // An older occurrence would already be too old to deliver.
  let deliveredUntil = Math.max(schedule.deliveredUntil, now - windowMs - ageMs - 1);
  const deliveries = schedule.deliveries.filter(({ expiresAt }) => expiresAt >= now);
  for (;;) {
    const scheduledTime = recurrence.next(deliveredUntil);
    if (scheduledTime === undefined || scheduledTime > now) break;
    const notBefore = scheduledTime + Math.floor(random() * windowMs);
    const expiresAt = notBefore + ageMs;
    if (expiresAt >= now) deliveries.push({ scheduledTime, attempt: 1, notBefore, expiresAt });
    deliveredUntil = scheduledTime;
  }
  const isSame =
    deliveries.length === schedule.deliveries.length && deliveredUntil === schedule.deliveredUntil;
  return isSame ? schedule : save(store, { ...schedule, deliveredUntil, deliveries });
}

async function deliver(
  firings: Firings,
  { arn, request }: StoredSchedule,
  delivery: PendingDelivery,
): Promise<void> {
  const { store, watched, running, invoke, log } = firings;
  const { scheduledTime, attempt } = delivery;
  const id = randomBytes(8).toString("hex");
  const event = scheduleEvent(request.Target.Input, { scheduleArn: arn, scheduledTime, id, attempt });
  running.add(delivery);
  const result = await invoke(request.Target.Arn, event);
  running.delete(delivery);
  const schedule = store.find(request.GroupName, request.Name);
  // The schedule was deleted or replaced meanwhile, or all firing has stopped.
  if (!schedule?.deliveries.includes(delivery) || !watched.has(scheduleKey(request))) return;
  const retry =
    result === "failed"
      ? retryOf(delivery, request.Target.RetryPolicy.MaximumRetryAttempts, firings.clock.now())
      : undefined;
  if (result !== "done" && !retry)
    log(
      `schedule ${scheduleKey(request)} gave up after attempt ${attempt} of its run of ${stamp(scheduledTime)}`,
    );
  const others = schedule.deliveries.filter((other) => other !== delivery);
  fireDue(firings, save(store, { ...schedule, deliveries: retry ? [...others, retry] : others }));
}

/** Answers the next attempt of a delivery; `undefined` if its attempts are used up or it would be too old. */
function retryOf(delivery: PendingDelivery, maxRetries: number, now: number): PendingDelivery | undefined {
  const { attempt, expiresAt } = delivery;
  const notBefore = now + Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LONGEST_RETRY_MS);
  return attempt > maxRetries || notBefore > expiresAt
    ? undefined
    : { ...delivery, attempt: attempt + 1, notBefore };
}

function complete(firings: Firings, schedule: StoredSchedule): void {
  forget(firings, schedule);
  if (schedule.request.ActionAfterCompletion === "DELETE") firings.store.remove(schedule);
}

function save(store: ScheduleStore, schedule: StoredSchedule): StoredSchedule {
  store.put(schedule);
  return schedule;
}

function reread({ store }: Firings, schedule: StoredSchedule): StoredSchedule {
  return store.find(schedule.request.GroupName, schedule.request.Name) ?? schedule;
}

function stamp(time: number): string {
  return new Date(time).toISOString();
}
