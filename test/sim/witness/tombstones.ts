import type { Home } from "../../../src/core/home.ts";
import type { Tombstone } from "../../../src/core/items.ts";
import type { Weather } from "../faults.ts";
import type { Bench } from "./bench.ts";
import { judgeFiling, judgeKeyedJob, noteKept } from "./event-jobs.ts";
import {
  inEffect,
  isAskedFor,
  isLive,
  isSpared,
  type Key,
  type KeyedJob,
  lastTaker,
  mayBeMet,
  reachOf,
  type Scene,
  type SentEvent,
  sceneOf,
} from "./keyed-jobs.ts";

export function tombstonesOf(bench: Bench, weather: Weather) {
  const scene = sceneOf(bench, weather);
  const { clock, keyOf } = scene;
  return {
    filed: (before: Home | undefined, after: Home | undefined): void => judgeKeyedJob(scene, before, after),
    left: (before: Tombstone | undefined, after: Tombstone | undefined): void =>
      judgeTombstone(scene, before, after),
    noted: (pk: string, id: string): void => noteKept(scene, pk, id),

    /** Whether a tombstone allows that a job is filed as cancelled. */
    standsFor({ topic, key, createdAt, eventAt = Number.POSITIVE_INFINITY }: Home): boolean {
      const { tombstone } = key === undefined ? {} : keyOf(topic, key);
      return tombstone !== undefined && (tombstone.until > createdAt || tombstone.eventAt >= eventAt);
    },

    mayCancel: (home: Home): boolean => mayCancel(scene, home),

    keeps(topic: string, key: string): void {
      keyOf(topic, key).keptAt = clock();
    },

    /** The function gets an event. Answers a callback: call it at the end of the invocation, and say whether the event was applied. */
    began(event: SentEvent): (applied: boolean) => void {
      const key = keyOf(event.rule.topic, event.key);
      const invocation = { event, from: clock(), to: Number.POSITIVE_INFINITY };
      key.invocations.push(invocation);
      return (applied) => {
        invocation.to = clock() + scene.landsWithin;
        if (applied && event.rule.do === "cancel") judgeCancelling(scene, key, event);
        else if (applied) judgeFiling(scene, key, event);
      };
    },
  };
}

/** Whether an event that is being applied may cancel a job: it was not applied before, and no later event has asked for the job. */
function mayCancel(scene: Scene, { id, topic, key: name = "" }: Home): boolean {
  const key = scene.keyOf(topic, name);
  const job = key.jobs.get(id);
  return inEffect(scene, key, "cancel").some(({ event }) => {
    const isTold = key.cancels.some((cancel) => cancel.id === event.id);
    return !isTold && !(job && isSpared(scene, job, { at: event.at, reach: reachOf(event) }));
  });
}

/** A tombstone must be that of an event of its key, and replace none of a later event. */
function judgeTombstone(scene: Scene, before: Tombstone | undefined, after: Tombstone | undefined): void {
  const { broken } = scene;
  const [, topic = "", ...rest] = ((after ?? before) as Tombstone).pk.split("#");
  const key = scene.keyOf(topic, rest.join("#"));
  key.tombstone = after;
  if (!after) return;
  if (before && after.eventAt < before.eventAt)
    broken("", `a tombstone was lowered: ${JSON.stringify(before)} became ${JSON.stringify(after)}`);
  const id = after.events.split("\n").at(-1);
  const event = key.invocations.find((invocation) => invocation.event.id === id)?.event;
  if (event) cancelledBy(scene, key, event, { before, after });
  else broken("", `a tombstone of no event of its key: ${JSON.stringify(after)}`);
}

/** A tombstone must record that this event, or a later one, was applied. */
function judgeCancelling({ surely, broken }: Scene, { cancels }: Key, { id, at }: SentEvent): void {
  if (!cancels.some((cancel) => cancel.id === id || cancel.at > at - surely))
    broken("", `event ${id} of ${at} was applied, and left no tombstone`);
}

type Left = { before: Tombstone | undefined; after: Tombstone };

/** After a tombstone is written, no earlier job of its key may still wait, and no job filed under it may run. */
function cancelledBy(scene: Scene, key: Key, event: SentEvent, left: Left): void {
  const { clock, broken } = scene;
  const { id, at } = event;
  const cancel = { id, at, reach: reachOf(event), since: clock() };
  const [name = "", job] = [...key.jobs].find(([, one]) => isLive(one)) ?? [];
  const isTold = key.cancels.some((cancel) => cancel.id === id);
  if (isTold) broken(name, `event ${id} was told before, and left its tombstone again`);
  key.cancels.push(cancel);
  judgeReach(scene, key, event, left);
  if (job && isMissed(scene, job, cancel))
    broken(name, `alive at ${clock()} though event ${id} of ${at} was applied`);
  const met = [...key.jobs.values()].filter((one) => mayBeMet(scene, one, at));
  if (met.length === 0) key.inForce = { from: clock(), until: cancel.reach };
  // The transaction that writes the tombstone also ends the job.
  else if (met.some((one) => isLive(one) || one.endedAt === clock())) key.inForce = undefined;
}

/** An event that has found and cancelled its job must not cancel in advance, too. */
function judgeReach(scene: Scene, key: Key, { id }: SentEvent, { before, after }: Left): void {
  const { eventAt, until } = after;
  const isAhead = until > Math.max(eventAt, before?.until ?? 0);
  const first = Math.min(...inEffect(scene, key, "cancel").map(({ from }) => from));
  // An event knows only the job that took the key last, in the state in which the event read it.
  const [last, held] = lastTaker(key.jobs) ?? [];
  // `finishedAt` and `createdAt` come from the clocks of the machines that ended and filed the job.
  const isMet = held && held.createdAt < eventAt && held.finishedAt >= eventAt + scene.skew;
  const isOver = isMet && !isLive(held) && held.endedAt < first;
  if (isAhead && last && isOver)
    scene.broken(last, `event ${id} had done its work, and cancels till ${until}`);
}

function isMissed(scene: Scene, job: KeyedJob, { at, reach }: { at: number; reach: number }): boolean {
  // A cancelled job may still run, if it does not run again.
  if (job.isAsked || isAskedFor(scene, job, { at, reach })) return false;
  const isFiled = job.createdAt <= reach && job.filedAt < reach - scene.surely;
  return isFiled || (job.eventAt > 0 && job.eventAt < at - scene.surely);
}
