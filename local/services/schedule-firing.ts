import { randomBytes } from "node:crypto";
import type { Recurrence } from "../../cron/expression.ts";
import { errorText } from "../local-error.ts";
import type { Clock } from "./clock.ts";
import { scheduleEvent } from "./schedule-event.ts";
import { recurrenceOf } from "./schedule-request.ts";
import { type Delivery, type Schedule, type ScheduleStore, scheduleKey } from "./schedule-store.ts";

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 600_000;

/** What became of an attempt. Only what failed is tried again. */
export type InvokeResult = "done" | "failed" | "refused";

export type Surroundings = {
  readonly book: ScheduleStore;
  readonly clock: Clock;
  /** From 0 up to 1, without 1. */
  readonly random: () => number;
  /** Calls a target. Never rejects. */
  readonly invoke: (targetArn: string, event: unknown) => Promise<InvokeResult>;
  readonly log: (line: string) => void;
};

export type Firing = {
  /** Sees to a schedule that is new or changed. */
  readonly watch: (schedule: Schedule) => void;
  /** Fires a schedule no more. */
  readonly forget: (schedule: Schedule) => void;
  /** Takes up no more occurrences. What runs is not waited for: it is tried again at the next start. */
  readonly stop: () => void;
};

/**
 * Fires schedules: each occurrence becomes a delivery, kept until its target was invoked, its attempts are used up
 * or it is too old. So an occurrence missed while nobody looked is delivered late, and one may be delivered twice.
 */
export function startFiring({ book, clock, random, invoke, log }: Surroundings): Firing {
  const watched = new Map<string, { recurrence: Recurrence; cancel: () => void }>();
  const running = new Set<Delivery>();

  function watch(schedule: Schedule): void {
    forget(schedule);
    if (schedule.request.State === "DISABLED") return;
    const recurrence = readableRecurrenceOf(schedule);
    if (!recurrence) return;
    watched.set(scheduleKey(schedule.request), { recurrence, cancel: () => {} });
    look(schedule);
  }

  /** An earlier version may have taken and kept an expression or a time zone that this one refuses. */
  function readableRecurrenceOf({ request, createdAt }: Schedule): Recurrence | undefined {
    try {
      return recurrenceOf(request, createdAt);
    } catch (error) {
      log(`schedule ${scheduleKey(request)} does not fire: ${errorText(error)}; put it again, or remove it`);
      return undefined;
    }
  }

  function forget({ request }: Schedule): void {
    watched.get(scheduleKey(request))?.cancel();
    watched.delete(scheduleKey(request));
  }

  /** Takes up what is due, starts what may start, and comes back at the next time of either. */
  function look(known: Schedule): void {
    const entry = watched.get(scheduleKey(known.request));
    if (!entry) return;
    const schedule = takeUp(known, entry.recurrence);
    const now = clock.now();
    const waiting = schedule.deliveries.filter((delivery) => !running.has(delivery));
    for (const delivery of waiting) if (delivery.notBefore <= now) void deliver(schedule, delivery);
    const next = entry.recurrence.next(schedule.deliveredUntil);
    if (next === undefined && schedule.deliveries.length === 0) {
      complete(schedule);
      return;
    }
    const times = waiting.map(({ notBefore }) => notBefore).filter((time) => time > now);
    const time = Math.min(next ?? Infinity, ...times);
    entry.cancel();
    if (time < Infinity) entry.cancel = clock.callAt(time, () => look(current(schedule)));
  }

  /** The schedule with its due occurrences as deliveries, kept before any is started. */
  function takeUp(schedule: Schedule, recurrence: Recurrence): Schedule {
    const now = clock.now();
    const { FlexibleTimeWindow, Target } = schedule.request;
    const windowMs = (FlexibleTimeWindow.MaximumWindowInMinutes ?? 0) * 60_000;
    const ageMs = Target.RetryPolicy.MaximumEventAgeInSeconds * 1000;
    // What is older would only be dropped.
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
    return isSame ? schedule : kept({ ...schedule, deliveredUntil, deliveries });
  }

  async function deliver({ arn, request }: Schedule, delivery: Delivery): Promise<void> {
    const { scheduledTime, attempt } = delivery;
    const id = randomBytes(8).toString("hex");
    const event = scheduleEvent(request.Target.Input, { scheduleArn: arn, scheduledTime, id, attempt });
    running.add(delivery);
    const result = await invoke(request.Target.Arn, event);
    running.delete(delivery);
    const schedule = book.find(request.GroupName, request.Name);
    // It was deleted or replaced meanwhile, or this has stopped.
    if (!schedule?.deliveries.includes(delivery) || !watched.has(scheduleKey(request))) return;
    const retry =
      result === "failed" ? retryOf(delivery, request.Target.RetryPolicy.MaximumRetryAttempts) : undefined;
    if (result !== "done" && !retry)
      log(
        `schedule ${scheduleKey(request)} gave up after attempt ${attempt} of its run of ${stamp(scheduledTime)}`,
      );
    const others = schedule.deliveries.filter((other) => other !== delivery);
    look(kept({ ...schedule, deliveries: retry ? [...others, retry] : others }));
  }

  /** Nothing when its attempts are used up or it would be too old. */
  function retryOf(delivery: Delivery, maxRetries: number): Delivery | undefined {
    const { attempt, expiresAt } = delivery;
    const notBefore = clock.now() + Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LONGEST_RETRY_MS);
    return attempt > maxRetries || notBefore > expiresAt
      ? undefined
      : { ...delivery, attempt: attempt + 1, notBefore };
  }

  function complete(schedule: Schedule): void {
    forget(schedule);
    if (schedule.request.ActionAfterCompletion === "DELETE") book.remove(schedule);
  }

  function kept(schedule: Schedule): Schedule {
    book.put(schedule);
    return schedule;
  }

  function current(schedule: Schedule): Schedule {
    return book.find(schedule.request.GroupName, schedule.request.Name) ?? schedule;
  }

  return {
    watch,
    forget,
    stop: () => {
      for (const { cancel } of watched.values()) cancel();
      watched.clear();
    },
  };
}

function stamp(time: number): string {
  return new Date(time).toISOString();
}
