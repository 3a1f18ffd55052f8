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
};

/** EventBridge Scheduler refuses a StartDate that is longer ago than this, ms. */
const OLDEST_START = 5 * 60_000;

/** Creates recurring schedules in memory, with the semantics of EventBridge Scheduler. `clock`: ms since the epoch. */
export function memorySchedules({ clock }: { clock: () => number }): MemorySchedules {
  const kept = new Map<string, Kept>();
  const begin = (): void => {
    if (fake.trouble) throw fake.trouble;
  };
  const keep = (schedule: Schedule, from: number | undefined): void => {
    if (from !== undefined && from < clock() - OLDEST_START) {
      throw new MinutehandError(
        "bad-request",
        "EventBridge Scheduler refuses the schedule: StartDate is long past",
      );
    }
    const { start: _, end: __, anchor: ___, createdAt: ____, job: _____, ...fields } = schedule;
    kept.set(schedule.name, { fields, input: occurrenceInput(schedule), from });
  };
  const fake: MemorySchedules = {
    trouble: undefined,
    async create(schedule, from) {
      begin();
      if (kept.has(schedule.name)) return "exists";
      keep(schedule, from);
      return "created";
    },
    async update(schedule, from) {
      begin();
      if (!kept.has(schedule.name)) return "missing";
      keep(schedule, from);
      return "updated";
    },
    async read(name) {
      begin();
      const one = kept.get(name);
      const stored = storedInput(one?.input ?? "");
      if (!one || !stored) return undefined;
      return { schedule: { ...one.fields, ...stored }, isAimed: true };
    },
    async remove(name) {
      begin();
      return kept.delete(name) ? "removed" : "missing";
    },
    async list(limit, cursor = "") {
      begin();
      if (cursor !== "" && !kept.has(cursor)) throw new MinutehandError("bad-request", "unknown cursor");
      const names = [...kept.keys()].sort().filter((name) => name > cursor);
      const page = names.slice(0, limit);
      const last = page.at(-1);
      return { names: page, ...(last === undefined || names.length <= limit ? {} : { cursor: last }) };
    },
    inputOf(name, time) {
      const at = new Date(time).toISOString().replace(".000Z", "Z");
      return JSON.parse((kept.get(name)?.input ?? "").replaceAll("<aws.scheduler.scheduled-time>", at));
    },
    fromOf: (name) => kept.get(name)?.from,
  };
  return fake;
}
