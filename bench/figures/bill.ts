import { lineOf } from "../bill/table.ts";
import { billAll } from "../bill/workloads.ts";
import type { Figure } from "../figure.ts";

/** Needs no emulator: the simulated services count. `npm run bill` prints the parts of each bill too. */
export const bill: Figure = {
  name: "bill",
  what: "what AWS charges for a million jobs, or for a month",
  measure: async () =>
    (await billAll()).billed.map(lineOf).map(({ workload, per, dollars, writeUnits }) => ({
      figure: `bill: ${workload}, a ${per}`,
      ours: writeUnits === undefined ? `$${dollars}` : `$${dollars}; ${writeUnits} write units a job`,
    })),
};
