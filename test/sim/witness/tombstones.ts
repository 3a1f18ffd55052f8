import { CLOCK_MARGIN, EVENT_PRECISION, LEAST_RETENTION } from "../../../core/constants.ts";
import type { EventRule } from "../../../core/event-rules.ts";
import { isFinished } from "../../../core/home.ts";
import type { Home, Tombstone } from "../../../core/items.ts";
import { ON_ITS_WAY, type Weather } from "../faults.ts";
import type { Bench } from "./bench.ts";

/** An event on the bus, and the rule that its topic applies to it. `at`: when it happened, ms since the epoch. */
export type SentEvent = { id: string; at: number; key: string; rule: EventRule };

/** A field of the body of each job that an event files: the event's id. */
export const EVENT = "event";

type Job = {
  filedAt: number;
  createdAt: number;
  /** The time of the latest event that has asked for the job, as its home says; 0 without one. */
  eventAt: number;
  state: Home["state"];
  /** The job runs, and an event has cancelled it: the run may end, but the job must not run again. */
  isAsked: boolean;
  finishedAt: number;
  endedAt: number;
  revivedAt: number;
  /** The time of the latest event that has asked for the job, whatever its home says: the event was applied while the job lived. */
  askedAt: number;
};
/** One invocation of the function with an event. `to`: by then the last of its requests has taken effect, or never will. */
type Invocation = { event: SentEvent; from: number; to: number };
/** An applied cancel. `at`: when its event happened. `reach`: until when it cancels jobs that are filed. `since`: when it was written. */
type Cancel = { id: string; at: number; reach: number; since: number };
type Key = {
  jobs: Map<string, Job>;
  invocations: Invocation[];
  cancels: Cancel[];
  /** When a caller last filed a job of the key with `onDuplicate: "keep"`. */
  keptAt: number;
  /** The span of the latest event that cancels: no job of the key may be filed alive in it. */
  inForce: { from: number; until: number } | undefined;
  tombstone: Tombstone | undefined;
};

/** ms after an invocation's end until its requests have taken effect or are too old. After one crash, one may be under way. */
const LANDS_WITHIN: Record<Weather, number> = { calm: 0, "one fault": ON_ITS_WAY, hurt: 360_000 };
/** How long all tries of a caller's call last. ms. */
const CALL = 120_000;

/** Judges what events do to the jobs of their keys. */
export function tombstonesOf({ clock, skew, broken }: Bench, weather: Weather) {
  const keys = new Map<string, Key>();
  const filedBy = new Map<string, Set<string>>();
  const seen = new Set<string>();
  const of = (topic: string, key: string): Key => {
    const found = keys.get(`${topic}#${key}`);
    if (found) return found;
    const fresh: Key = {
      jobs: new Map(),
      invocations: [],
      cancels: [],
      keptAt: Number.NEGATIVE_INFINITY,
      inForce: undefined,
      tombstone: undefined,
    };
    keys.set(`${topic}#${key}`, fresh);
    return fresh;
  };
  const ofEvent = ({ rule, key }: SentEvent): Key => of(rule.topic, key);
  /** The invocations for events that cancel, or for events that file jobs, whose requests may still take effect. */
  const inEffect = ({ invocations }: Key, what: EventRule["do"]): Invocation[] =>
    invocations.filter(({ event, to }) => event.rule.do === what && to >= clock());
  const isLive = ({ state }: Job): boolean => state === "scheduled" || state === "running";
  /** Whether an event of `at` may have found a job: the job was filed by then, and had not ended. */
  const mayBeMet = (job: Job, at: number): boolean =>
    job.createdAt < at + EVENT_PRECISION + surely && (isLive(job) || job.finishedAt >= at - surely);
  const surely = 2 * skew;
  /** Whether an event after `at` asked for a job that existed by then, or one after `reach`, when the cancel applied no more. */
  const isAskedFor = ({ createdAt, askedAt }: Job, at: number, reach: number): boolean =>
    askedAt > at - surely && (createdAt <= at + surely || askedAt >= reach - surely);
  /** Whether a cancel must leave a job alone, because a later event asked for it. The same as `isAskedFor`, but without doubt. */
  const isSpared = ({ createdAt, askedAt }: Job, { at, reach }: Pick<Cancel, "at" | "reach">): boolean =>
    askedAt > at + surely && (createdAt < at - surely || askedAt > reach + surely);
  /** An event that happened after `at` and has already cancelled the key's jobs. */
  const laterCancel = ({ cancels }: Key, at: number): Cancel | undefined =>
    cancels.find((cancel) => cancel.at - surely > at && cancel.since < clock());

  const lastTaker = (jobs: Iterable<[string, Job]>): [string, Job] | undefined =>
    [...jobs].sort(([, a], [, b]) => takenAt(a) - takenAt(b)).at(-1);
  const takenAt = ({ filedAt, revivedAt }: Job): number => Math.max(filedAt, revivedAt);
  /** The job that had the key before job `id`, if the job's home and key are surely still stored. */
  const lastEnded = ({ jobs }: Key, id: string): Job | undefined => {
    const [, last] = lastTaker([...jobs].filter(([one]) => one !== id)) ?? [];
    return last && !isLive(last) && last.endedAt > clock() - LEAST_RETENTION / 2 ? last : undefined;
  };

  function created(key: Key, home: Home): void {
    const event = markOf(home);
    if (event !== undefined) {
      const ids = filedBy.get(event) ?? new Set();
      filedBy.set(event, ids.add(home.id));
      if (ids.size > 1) broken(home.id, `event ${event} filed ${ids.size} jobs`);
    }
    const { from = 0, until = 0 } = key.inForce ?? {};
    if (from < clock() && clock() < until - 2 * skew && !isFinished(home))
      broken(home.id, `filed alive at ${clock()} under a tombstone till ${until}`);
  }

  /** A home's `eventAt` is that of an event being applied, which must not touch a job that a later event has asked for or cancelled. */
  function byEvent(key: Key, before: Home | undefined, { id, eventAt = 0, state }: Home): void {
    const least = before && (before.eventAt ?? before.createdAt - CLOCK_MARGIN);
    if (least !== undefined && eventAt < least)
      broken(id, `last asked for at ${least}, and says ${eventAt} now`);
    const isSaid = inEffect(key, "enqueue").some(
      ({ event: { at } }) => at - surely <= eventAt && eventAt <= at,
    );
    if (!isSaid) broken(id, `asked for by no event of ${eventAt}`);
    const last = before || state === "cancelled" ? undefined : lastEnded(key, id);
    if (last && eventAt < last.eventAt)
      broken(
        id,
        `filed by an event of ${eventAt}, though one of ${last.eventAt} has asked for the key's job`,
      );
    const later = state === "cancelled" ? undefined : laterCancel(key, eventAt);
    if (later)
      broken(id, `asked for by an event of ${eventAt}, though ${later.id} of ${later.at} cancelled it`);
  }

  /** A cancelled run must not end the job if a later event has kept the job. */
  function endedAsked({ jobs, cancels }: Key, id: string): void {
    const job = jobs.get(id);
    if (job && cancels.every((cancel) => isSpared(job, cancel)))
      broken(id, `cancelled by an event, though one of ${job.askedAt} has kept it`);
  }

  /** The cancel of a running job may be taken back only for an event or a caller that has kept the job since. */
  function unmarked(key: Key, id: string): void {
    const last = Math.max(...key.cancels.map(({ at }) => at));
    const isKept = inEffect(key, "enqueue").some(({ event }) => event.at + surely > last);
    if (!isKept && key.keptAt < clock() - CALL) broken(id, "an event has cancelled it, and nobody kept it");
  }

  return {
    filed(before: Home | undefined, after: Home | undefined): void {
      const { id, topic, key: name = "" } = (after ?? before) as Home;
      const key = of(topic, name);
      if (!after) return void key.jobs.delete(id);
      if (!before) created(key, after);
      if (after.eventAt !== before?.eventAt) byEvent(key, before, after);
      if (before && isAsked(before) && after.state === "cancelled") endedAsked(key, id);
      if (before && isAsked(before) && after.state === "running" && !isAsked(after)) unmarked(key, id);
      const known = key.jobs.get(id) ?? {
        filedAt: clock(),
        endedAt: 0,
        revivedAt: 0,
        askedAt: 0,
      };
      const ended = isFinished(after) && !(before && isFinished(before));
      const revived = before?.state === "dead" && !isFinished(after);
      key.jobs.set(id, {
        ...known,
        createdAt: after.createdAt,
        eventAt: after.eventAt ?? 0,
        state: after.state,
        isAsked: isAsked(after),
        askedAt: Math.max(known.askedAt, after.eventAt ?? 0),
        finishedAt: after.finishedAt ?? 0,
        ...(ended && { endedAt: clock() }),
        ...(revived && { revivedAt: clock() }),
      } as Job);
      // Only a user's change may make it scheduled again: that resets its attempts, and comes after the run's lease.
      const repeated = before && isAsked(before) && after.state === "scheduled";
      if (repeated && (after.attempt > 0 || clock() < (before.leaseEnd ?? 0)))
        broken(id, `to be run again though an event cancelled it at ${before.cancelAskedAt}`);
      const mark = markOf(after);
      if (mark !== undefined) seen.add(mark);
    },

    left(before: Tombstone | undefined, after: Tombstone | undefined): void {
      const [, topic = "", ...rest] = ((after ?? before) as Tombstone).pk.split("#");
      const key = of(topic, rest.join("#"));
      key.tombstone = after;
      if (!after) return;
      if (before && after.eventAt < before.eventAt)
        broken("", `a tombstone was lowered: ${JSON.stringify(before)} became ${JSON.stringify(after)}`);
      const id = after.events.split("\n").at(-1);
      const event = key.invocations.find((invocation) => invocation.event.id === id)?.event;
      if (event) cancelledBy(key, event, before, after);
      else broken("", `a tombstone of no event of its key: ${JSON.stringify(after)}`);
    },

    /** Whether a tombstone allows that a job is filed as cancelled. */
    standsFor({ topic, key, createdAt, eventAt = Number.POSITIVE_INFINITY }: Home): boolean {
      const { tombstone } = key === undefined ? {} : of(topic, key);
      return tombstone !== undefined && (tombstone.until > createdAt || tombstone.eventAt >= eventAt);
    },

    /** Whether an event that is being applied may cancel a job: it was not applied before, and no later event has asked for the job. */
    mayCancel({ id, topic, key: name = "" }: Home): boolean {
      const key = of(topic, name);
      const job = key.jobs.get(id);
      return inEffect(key, "cancel").some(({ event }) => {
        const isTold = key.cancels.some((cancel) => cancel.id === event.id);
        return !isTold && !(job && isSpared(job, { at: event.at, reach: reachOf(event) }));
      });
    },

    /** A once item names a job. If an event kept it, the event was applied, even if its function then dies and the job is deleted. */
    noted(pk: string, id: string): void {
      const [, topic = "", ...token] = pk.split("#");
      const [, what, mark, ...name] = token.join("#").split("§");
      if (what !== "event") return;
      const key = of(topic, name.join("§"));
      const event = key.invocations.find((invocation) => invocation.event.id === mark)?.event;
      const job = key.jobs.get(id);
      if (event && job && isLive(job) && mayKeep(key, event, job)) seen.add(event.id);
    },

    /** A caller files a job of a key, and keeps the job that has the key. */
    keeps(topic: string, key: string): void {
      of(topic, key).keptAt = clock();
    },

    /** The function gets an event. Answers a callback: call it at the end of the invocation, and say whether the event was applied. */
    began(event: SentEvent): (applied: boolean) => void {
      const key = ofEvent(event);
      const invocation = { event, from: clock(), to: Number.POSITIVE_INFINITY };
      key.invocations.push(invocation);
      return (applied) => {
        invocation.to = clock() + LANDS_WITHIN[weather];
        if (applied && event.rule.do === "cancel") leftTombstone(key, event);
        else if (applied) filedByEvent(key, event);
      };
    },
  };

  /** A tombstone must record that this event, or a later one, was applied. */
  function leftTombstone({ cancels }: Key, { id, at }: SentEvent): void {
    if (!cancels.some((cancel) => cancel.id === id || cancel.at > at - surely))
      broken("", `event ${id} of ${at} was applied, and left no tombstone`);
  }

  /** After a tombstone is written, no earlier job of its key may still wait, and no job filed under it may run. */
  function cancelledBy(
    key: Key,
    event: SentEvent,
    before: Tombstone | undefined,
    { eventAt, until }: Tombstone,
  ): void {
    const { id, at } = event;
    const reach = reachOf(event);
    const [name = "", job] = [...key.jobs].find(([, one]) => isLive(one)) ?? [];
    const isTold = key.cancels.some((cancel) => cancel.id === id);
    if (isTold) broken(name, `event ${id} was told before, and left its tombstone again`);
    key.cancels.push({ id, at, reach, since: clock() });
    const isAhead = until > Math.max(eventAt, before?.until ?? 0);
    const first = Math.min(...inEffect(key, "cancel").map(({ from }) => from));
    // An event knows only the job that took the key last, in the state in which the event read it.
    const [last, held] = lastTaker(key.jobs) ?? [];
    // `finishedAt` and `createdAt` come from the clocks of the machines that ended and filed the job.
    const isMet = held && held.createdAt < eventAt && held.finishedAt >= eventAt + skew;
    const isOver = isMet && !isLive(held) && held.endedAt < first;
    if (isAhead && last && isOver) broken(last, `event ${id} had done its work, and cancels till ${until}`);
    // A cancelled job may still run, if it does not run again.
    if (!job?.isAsked && job && !isAskedFor(job, at, reach)) {
      const isFiled = job.createdAt <= reach && job.filedAt < reach - surely;
      const isEarlier = job.eventAt > 0 && job.eventAt < at - surely;
      if (isFiled || isEarlier) broken(name, `alive at ${clock()} though event ${id} of ${at} was applied`);
    }
    const met = [...key.jobs.values()].filter((one) => mayBeMet(one, at));
    if (met.length === 0) key.inForce = { from: clock(), until: reach };
    // The transaction that writes the tombstone also ends the job.
    else if (met.some((one) => isLive(one) || one.endedAt === clock())) key.inForce = undefined;
  }

  /** Whether an event may have happened before somebody asked for a job last. */
  function isEarlier({ at }: Pick<SentEvent, "at">, job: Job): boolean {
    return at < Math.max(job.askedAt, job.createdAt - CLOCK_MARGIN + surely);
  }

  /** Whether an event that files a job may keep a live job instead. */
  function mayKeep({ cancels }: Key, { at, rule }: SentEvent, job: Job): boolean {
    const isLate = cancels.some((cancel) => cancel.at >= at - surely);
    return isLate || isEarlier({ at }, job) || (rule.do === "enqueue" && rule.onDuplicate === "keep");
  }

  /** An event that was applied must have filed its job, or kept a live one instead. */
  function filedByEvent(key: Key, event: SentEvent): void {
    const { id, at } = event;
    const first = key.invocations.find(({ event }) => event.id === id)?.from ?? 0;
    for (const job of key.jobs.values())
      if (isLive(job) && Math.max(job.filedAt, job.revivedAt) < first)
        job.askedAt = Math.max(job.askedAt, at);
    if (seen.has(id)) return;
    const kept = [...key.jobs.values()].some(
      (job) => (isLive(job) || job.endedAt >= first || isEarlier(event, job)) && mayKeep(key, event, job),
    );
    if (!kept) broken("", `event ${id} was applied, and filed nothing`);
    // If the event is delivered again after its job is deleted, it need not file another.
    seen.add(id);
  }
}

function reachOf({ at, rule }: SentEvent): number {
  return at + (rule.do === "cancel" ? rule.tombstone : 0) * 1000;
}

function isAsked({ state, cancelAskedAt }: Home): boolean {
  return state === "running" && cancelAskedAt !== undefined;
}

function markOf({ body }: Home): string | undefined {
  const mark = (JSON.parse(body) as Record<string, unknown> | null)?.[EVENT];
  return typeof mark === "string" ? mark : undefined;
}
