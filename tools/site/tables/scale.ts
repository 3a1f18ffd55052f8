import { pendingTable, tableOf, written } from "../../bench/scale/tables.ts";
import { WORKLOADS } from "../../bench/scale/workloads.ts";

/** The tables of the model of scale, by their names. `npm run scale -- --write` computes the figures. */
export const SCALE_TABLES: Readonly<Record<string, () => string>> = {
  ...Object.fromEntries(
    WORKLOADS.map(({ name }) => [`scale-${name}`, () => tableOf(name, written().lines)] as const),
  ),
  "scale-pending": pendingTable,
};
