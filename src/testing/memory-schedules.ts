import { MinutehandError } from "../core/errors.ts";
import { occurrenceInput, type Schedule, storedInput } from "../core/occurrence.ts";
import type { Schedules } from "../protocol/ports.ts";

export type MemorySchedules = Schedules & {
  /** Thrown by every call while it is set. */
  trouble: Error | undefined;
  /** The input that a schedule's target gets for the occurrence at `time`, ms since the epoch. */
  inputOf(name: string, time: number): unknown;
  /** The time from which a schedule fires, as the last call set it. */
  fromOf(name: string): number | undefined;
};

type Kept = {
  fields: Omit<Schedule, "start" | "end" | "anchor" | "createdAt" | "job">;
  input: string;
  from: number | undefined;
  changedAt: number;
};

/** EventBridge Scheduler refuses a StartDate that is longer ago than this, ms. */
const OLDEST_START = 5 * 60_000;

/** Creates recurring schedules in memory, with the semantics of EventBridge Scheduler. `clock`: ms since the epoch. */
export function memorySchedules({ clock }: { clock: () => number }): MemorySchedules {
  const kept = new Map<string, Kept>();
  const call =
    <Given extends unknown[], T>(act: (...given: Given) => T) =>
    async (...given: Given): Promise<T> => {
      if (fake.trouble) throw fake.trouble;
      return act(...given);
    };
  const fake: MemorySchedules = {
    trouble: undefined,
    create: call((schedule, from) => {
      if (kept.has(schedule.name)) return "exists";
      kept.set(schedule.name, keptOf(schedule, from, clock()));
      return "created";
    }),
    update: call((schedule, from) => {
      if (!kept.has(schedule.name)) return "missing";
      kept.set(schedule.name, keptOf(schedule, from, clock()));
      return "updated";
    }),
    read: call((name) => {
      const one = kept.get(name);
      const stored = storedInput(one?.input ?? "");
      return (
        one && stored && { schedule: { ...one.fields, ...stored }, isAimed: true, changedAt: one.changedAt }
      );
    }),
    remove: call((name) => (kept.delete(name) ? "removed" : "missing")),
    list: call((limit, cursor) => listNames([...kept.keys()], limit, cursor)),
    inputOf(name, time) {
      const at = new Date(time).toISOString().replace(".000Z", "Z");
      return JSON.parse((kept.get(name)?.input ?? "").replaceAll("<aws.scheduler.scheduled-time>", at));
    },
    fromOf: (name) => kept.get(name)?.from,
  };
  return fake;
}

function keptOf(schedule: Schedule, from: number | undefined, now: number): Kept {
  if (from !== undefined && from < now - OLDEST_START) {
    throw new MinutehandError(
      "bad-request",
      "EventBridge Scheduler refuses the schedule: StartDate is long past",
    );
  }
  const {
    start: _,
    end: __,
    anchor: ___,
    createdAt: ____,
    job: _____,
    declared: ______,
    ...fields
  } = schedule;
  return { fields, input: occurrenceInput(schedule), from, changedAt: now };
}

/** The names of one page, and the cursor of the next. */
function listNames(all: readonly string[], limit: number, cursor = ""): { names: string[]; cursor?: string } {
  if (cursor !== "" && !all.includes(cursor)) throw new MinutehandError("bad-request", "unknown cursor");
  const names = all.toSorted().filter((name) => name > cursor);
  const page = names.slice(0, limit);
  const last = page.at(-1);
  return { names: page, ...(last === undefined || names.length <= limit ? {} : { cursor: last }) };
}
