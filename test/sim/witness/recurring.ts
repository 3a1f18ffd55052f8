import type { Home } from "../../../src/core/home.ts";
import type { RecurringItem } from "../../../src/core/items.ts";
import { storedInput } from "../../../src/core/occurrence.ts";

export const SCHEDULE = "schedule";

const MINUTE = 60_000;

/** What a schedule was in the table, from one write to the next: times in ms since the epoch. */
type Version = { readonly anchor: number; readonly every: number; readonly from: number; until: number };

/** A call that changes a schedule may have read it this long before. */
const MOST_AGE = 60_000;

type Clocks = { readonly clock: () => number; readonly skew: number };

/**
 * Compares the occurrences of schedules with the jobs that they filed: those that Scheduler has fired, and those that the table says, because a
 * call that changes a schedule files the last ones itself. `broken`: told of each broken promise. `skew`: ms that a clock may be off.
 */
export function recurringOf(broken: (id: string, text: string) => void, clocks: Clocks) {
  const fired = new Map<string, Set<number>>();
  const filed = new Map<string, Set<number>>();
  const jobs = new Map<string, Set<string>>();
  const tracked = new Map<string, Set<string>>();
  const table = tableOf(clocks);
  const timesOf = (name: string): Set<number> => new Set([...of(fired, name), ...table.timesOf(name)]);
  return {
    fired: (name: string, time: number): void => void of(fired, name).add(time),
    filed: (name: string, time: number): void => void of(filed, name).add(time),
    kept: table.kept,

    /** A job exists. A schedule must never have more tracked jobs than occurrences. */
    created(id: string, body: string, isTracked: boolean): void {
      const name = nameOf(body);
      if (name === undefined) return;
      of(jobs, name).add(id);
      const some = of(tracked, name);
      if (isTracked) some.add(id);
      const count = some.size > of(fired, name).size ? timesOf(name).size : some.size;
      if (some.size > count)
        broken(id, `schedule ${name} filed ${some.size} jobs, and came round ${count} times`);
    },

    /** A job is stored. `spread`: the most ms that it is later than its occurrence. */
    stored({ id, body, wantedAt }: Home, spread: number): void {
      const name = nameOf(body);
      if (name === undefined) return;
      const from = wantedAt - spread;
      if (!hasOneIn(of(fired, name), from, wantedAt) && !hasOneIn(timesOf(name), from, wantedAt))
        broken(id, `late since ${wantedAt}, which is no occurrence of schedule ${name}`);
    },

    judge(): void {
      for (const [name, { size }] of filed)
        if (of(jobs, name).size < size)
          broken("", `schedule ${name} came round ${size} times, and filed ${of(jobs, name).size} jobs`);
    },
  };
}

function hasOneIn(times: ReadonlySet<number>, from: number, to: number): boolean {
  return [...times].some((time) => from <= time && time <= to);
}

/** What the table says of schedules. Only expressions of minutes are known. */
function tableOf({ clock, skew }: Clocks) {
  const versions = new Map<string, Version[]>();
  return {
    /** The table has a schedule, or its item is gone. */
    kept(name: string, item: RecurringItem | undefined): void {
      const known = versions.get(name) ?? [];
      const last = known.at(-1);
      if (last) last.until = Math.min(last.until, clock() + skew + MOST_AGE);
      const minutes = /^rate\((\d+) minutes?\)$/.exec(item?.expression ?? "")?.[1];
      const anchor = storedInput(item?.input ?? "")?.anchor;
      if (!item || item.removed || item.paused || anchor === undefined || minutes === undefined) return;
      const version = { anchor, every: Number(minutes) * MINUTE, from: item.changedAt };
      versions.set(name, [...known, { ...version, until: Number.POSITIVE_INFINITY }]);
    },

    timesOf(name: string): number[] {
      return (versions.get(name) ?? []).flatMap(({ anchor, every, from, until }) => {
        const first = anchor + Math.max(Math.ceil((from - anchor) / every), 0) * every;
        const count = Math.floor((Math.min(until, clock() + skew) - first) / every) + 1;
        return Array.from({ length: Math.max(count, 0) }, (_, i) => first + i * every);
      });
    },
  };
}

function of<T>(sets: Map<string, Set<T>>, name: string): Set<T> {
  const set = sets.get(name) ?? new Set();
  sets.set(name, set);
  return set;
}

function nameOf(body: string): string | undefined {
  const value = JSON.parse(body) as Record<string, unknown> | null;
  const name = value?.[SCHEDULE];
  return typeof name === "string" ? name : undefined;
}
