import { CLOCK_MARGIN } from "../../../src/core/constants.ts";
import { type Home, isFinished } from "../../../src/core/home.ts";
import {
  inEffect,
  isEarlier,
  isLive,
  isSpared,
  type Key,
  type KeyedJob,
  lastEnded,
  laterCancel,
  mayKeep,
  type Scene,
  type SentEvent,
} from "./keyed-jobs.ts";

export const EVENT = "event";

/** How long all tries of a caller's call last. ms. */
const CALL = 120_000;

export function judgeKeyedJob(scene: Scene, before: Home | undefined, after: Home | undefined): void {
  const { clock, broken, seen } = scene;
  const { id, topic, key: name = "" } = (after ?? before) as Home;
  const key = scene.keyOf(topic, name);
  if (!after) return void key.jobs.delete(id);
  if (!before) created(scene, key, after);
  if (after.eventAt !== before?.eventAt) byEvent(scene, key, before, after);
  if (before && isAsked(before) && after.state === "cancelled") endedAsked(scene, key, id);
  if (before && isAsked(before) && after.state === "running" && !isAsked(after)) unmarked(scene, key, id);
  key.jobs.set(id, jobFrom(key.jobs.get(id), before, after, clock()));
  // Only a user's change may make it scheduled again: that resets its attempts, and comes after the run's lease.
  const repeated = before && isAsked(before) && after.state === "scheduled";
  if (repeated && (after.attempt > 0 || clock() < (before.leaseEnd ?? 0)))
    broken(id, `to be run again though an event cancelled it at ${before.cancelAskedAt}`);
  const mark = markOf(after);
  if (mark !== undefined) seen.add(mark);
}

function jobFrom(known: KeyedJob | undefined, before: Home | undefined, after: Home, now: number): KeyedJob {
  const { createdAt, eventAt = 0, state, finishedAt = 0 } = after;
  const { filedAt = now, endedAt = 0, revivedAt = 0, askedAt = 0 } = known ?? {};
  const ended = isFinished(after) && !(before && isFinished(before));
  const revived = before?.state === "dead" && !isFinished(after);
  return {
    ...{ filedAt, createdAt, eventAt, state, isAsked: isAsked(after), finishedAt },
    askedAt: Math.max(askedAt, eventAt),
    endedAt: ended ? now : endedAt,
    revivedAt: revived ? now : revivedAt,
  };
}

function created({ clock, skew, broken, filedBy }: Scene, key: Key, home: Home): void {
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
function byEvent(scene: Scene, key: Key, before: Home | undefined, { id, eventAt = 0, state }: Home): void {
  const { broken, surely } = scene;
  const least = before && (before.eventAt ?? before.createdAt - CLOCK_MARGIN);
  if (least !== undefined && eventAt < least)
    broken(id, `last asked for at ${least}, and says ${eventAt} now`);
  const isSaid = inEffect(scene, key, "enqueue").some(
    ({ event: { at } }) => at - surely <= eventAt && eventAt <= at,
  );
  if (!isSaid) broken(id, `asked for by no event of ${eventAt}`);
  if (state === "cancelled") return;
  const last = before ? undefined : lastEnded(scene, key, id);
  if (last && eventAt < last.eventAt)
    broken(id, `filed by an event of ${eventAt}, though one of ${last.eventAt} has asked for the key's job`);
  const later = laterCancel(scene, key, eventAt);
  if (later)
    broken(id, `asked for by an event of ${eventAt}, though ${later.id} of ${later.at} cancelled it`);
}

/** A cancelled run must not end the job if a later event has kept the job. */
function endedAsked(scene: Scene, { jobs, cancels }: Key, id: string): void {
  const job = jobs.get(id);
  if (job && cancels.every((cancel) => isSpared(scene, job, cancel)))
    scene.broken(id, `cancelled by an event, though one of ${job.askedAt} has kept it`);
}

/** The cancel of a running job may be taken back only for an event or a caller that has kept the job since. */
function unmarked(scene: Scene, key: Key, id: string): void {
  const last = Math.max(...key.cancels.map(({ at }) => at));
  const isKept = inEffect(scene, key, "enqueue").some(({ event }) => event.at + scene.surely > last);
  if (!isKept && key.keptAt < scene.clock() - CALL)
    scene.broken(id, "an event has cancelled it, and nobody kept it");
}

/** A once item names a job. If an event kept it, the event was applied, even if its function then dies and the job is deleted. */
export function noteKept(scene: Scene, pk: string, id: string): void {
  const [, topic = "", ...token] = pk.split("#");
  const [, what, mark, ...name] = token.join("#").split("§");
  if (what !== "event") return;
  const key = scene.keyOf(topic, name.join("§"));
  const event = key.invocations.find((invocation) => invocation.event.id === mark)?.event;
  const job = key.jobs.get(id);
  if (event && job && isLive(job) && mayKeep(scene, key, event, job)) scene.seen.add(event.id);
}

/** An event that was applied must have filed its job, or kept a live one instead. */
export function judgeFiling(scene: Scene, key: Key, event: SentEvent): void {
  const { id, at } = event;
  const first = key.invocations.find(({ event }) => event.id === id)?.from ?? 0;
  for (const job of key.jobs.values())
    if (isLive(job) && Math.max(job.filedAt, job.revivedAt) < first) job.askedAt = Math.max(job.askedAt, at);
  if (scene.seen.has(id)) return;
  const kept = [...key.jobs.values()].some(
    (job) =>
      (isLive(job) || job.endedAt >= first || isEarlier(scene, event, job)) &&
      mayKeep(scene, key, event, job),
  );
  if (!kept) scene.broken("", `event ${id} was applied, and filed nothing`);
  // If the event is delivered again after its job is deleted, it need not file another.
  scene.seen.add(id);
}

function isAsked({ state, cancelAskedAt }: Home): boolean {
  return state === "running" && cancelAskedAt !== undefined;
}

function markOf({ body }: Home): string | undefined {
  const mark = (JSON.parse(body) as Record<string, unknown> | null)?.[EVENT];
  return typeof mark === "string" ? mark : undefined;
}
