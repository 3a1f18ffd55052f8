import type { History } from "./simulate.ts";

/** The sum of many histories. */
export type Share = {
  histories: number;
  jobs: number;
  runs: number;
  calls: number;
  faults: number;
  broken: number;
  /** In histories without faults, how many ms after its due time the latest run started. */
  latest: number | undefined;
};

export function shares(): { readonly share: Share; add(history: History): void } {
  const share: Share = { histories: 0, jobs: 0, runs: 0, calls: 0, faults: 0, broken: 0, latest: undefined };
  return {
    share,
    add({ jobs, runs, calls, faults, violation, weather, lateness }) {
      share.histories += 1;
      share.jobs += jobs;
      share.runs += runs;
      share.faults += faults.size;
      share.broken += violation ? 1 : 0;
      for (const count of calls.values()) share.calls += count;
      if (weather === "calm") share.latest = Math.max(share.latest ?? 0, ...lateness);
    },
  };
}
