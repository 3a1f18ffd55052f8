import { timeOf } from "../../src/core/item-keys.ts";
import type { Row } from "./services/expressions.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** From so long before an entry's time a sweep may hand the job over. Until so long after it the audit may read the entry. */
const AROUND = { before: 5 * MINUTE, after: 30 * MINUTE };
/** A little more than the ten minutes in which each tick repeats a pause's request to Lambda to poll, or to stop. */
const PAUSE_SETTLES = 15 * MINUTE;
const BUCKET = /^\d{4}-/;
/** Items that wait for no tick. All other items wait for ticks until they are deleted. */
const IDLE = /^(key|once|tombstone|dead|starts|redrive|bulk)#|^(meta|limited|paused)$/;

type Waiting = Map<string, Set<string>>;

/** Learns from each write when a tick has work, so that a history of weeks plays no others: the next tick reads their empty buckets. */
export function attentionOf(clock: () => number) {
  const minutes = new Set<number>();
  const waiting: Waiting = new Map();
  const paused = new Set<string>();
  const swept = new Map<string, number>();
  const look = (from: number, to: number): void => {
    for (let minute = minuteOf(from); minute <= minuteOf(to); minute++) minutes.add(minute);
  };
  const pauseChanged = (topic: string, { state, expiresAt }: Row): void => {
    look(clock(), clock() + PAUSE_SETTLES);
    if (state?.S === "paused") paused.add(topic);
    else paused.delete(topic);
    setWaiting(waiting, "resumed", topic, state?.S === "resuming" && expiresAt === undefined);
  };
  return {
    written(before: Row | undefined, after: Row | undefined): void {
      const { pk, sk } = (after ?? before) as Row;
      const [partition, place] = [pk?.S ?? "", sk?.S ?? ""];
      const [kind, topic = ""] = partition.split("#");
      if (BUCKET.test(partition)) {
        const time = timeOf(place);
        if (after) look(time - AROUND.before, time + AROUND.after);
      } else if (kind === "cursor") swept.set(partition, Number.parseInt(after?.swept?.S ?? "0", 10));
      else if (kind === "pause") pauseChanged(topic, after ?? {});
      else if (!IDLE.test(partition))
        setWaiting(waiting, topic, `${partition} ${place}`, after !== undefined);
    },
    isNeeded(now: number): boolean {
      const isBehind = swept.size === 0 || [...swept.values()].some((time) => time < now - HOUR);
      const isWaitedFor = [...waiting].some(([topic, names]) => names.size > 0 && !paused.has(topic));
      return isBehind || isWaitedFor || minutes.has(minuteOf(now));
    },
  };
}

function setWaiting(waiting: Waiting, what: string, name: string, isWaiting: boolean): void {
  const names = waiting.get(what) ?? new Set();
  waiting.set(what, names);
  if (isWaiting) names.add(name);
  else names.delete(name);
}

function minuteOf(time: number): number {
  return Math.floor(time / MINUTE);
}

export type Attention = ReturnType<typeof attentionOf>;
