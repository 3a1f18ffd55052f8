import type { Home } from "../../../src/core/home.ts";

export const SCHEDULE = "schedule";

/** Compares the occurrences of schedules with the jobs that they filed. `broken`: told of each broken promise. */
export function recurringOf(broken: (id: string, text: string) => void) {
  const fired = new Map<string, Set<number>>();
  const filed = new Map<string, Set<number>>();
  const jobs = new Map<string, Set<string>>();
  const tracked = new Map<string, Set<string>>();
  return {
    fired: (name: string, time: number): void => void of(fired, name).add(time),
    filed: (name: string, time: number): void => void of(filed, name).add(time),

    /** A job exists. A schedule must never have more tracked jobs than occurrences. */
    created(id: string, body: string, isTracked: boolean): void {
      const name = nameOf(body);
      if (name === undefined) return;
      of(jobs, name).add(id);
      const some = of(tracked, name);
      if (isTracked) some.add(id);
      if (some.size > of(fired, name).size)
        broken(id, `schedule ${name} filed ${some.size} jobs, and came round ${of(fired, name).size} times`);
    },

    /** A job is stored. `spread`: the most ms that it is later than its occurrence. */
    stored({ id, body, wantedAt }: Home, spread: number): void {
      const name = nameOf(body);
      if (name === undefined) return;
      const isTime = [...of(fired, name)].some((time) => time <= wantedAt && wantedAt <= time + spread);
      if (!isTime) broken(id, `late since ${wantedAt}, which is no occurrence of schedule ${name}`);
    },

    judge(): void {
      for (const [name, times] of filed)
        if (of(jobs, name).size < times.size)
          broken(
            "",
            `schedule ${name} came round ${times.size} times, and filed ${of(jobs, name).size} jobs`,
          );
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
