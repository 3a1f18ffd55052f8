import type { History } from "./history.ts";

export type Share = {
  histories: number;
  jobs: number;
  runs: number;
  calls: number;
  faults: number;
  broken: number;
  /** In histories without faults, how many ms after its due time the latest run started. */
  latest: number | undefined;
  reached: Map<string, number>;
};

export function shares(): { readonly share: Share; add(history: History): void } {
  const none = { histories: 0, jobs: 0, runs: 0, calls: 0, faults: 0, broken: 0, latest: undefined };
  const share: Share = { ...none, reached: new Map() };
  return {
    share,
    add({ jobs, runs, calls, faults, violation, weather, lateness, reached = [] }) {
      share.histories += 1;
      share.jobs += jobs;
      share.runs += runs;
      share.faults += faults.size;
      share.broken += violation ? 1 : 0;
      for (const count of calls.values()) share.calls += count;
      for (const name of new Set(reached)) share.reached.set(name, (share.reached.get(name) ?? 0) + 1);
      if (weather === "calm") share.latest = Math.max(share.latest ?? 0, ...lateness);
    },
  };
}
