import { writtenBill } from "../../bench/bill/table.ts";
import { table } from "../markdown.ts";

/** The table of what workloads cost on AWS. `npm run bill -- --write` computes the figures. */
export function bill(): string {
  const rows = writtenBill().map(({ workload, per, dollars, parts, writeUnits, readUnits }) => [
    workload,
    `$${dollars} a ${per}`,
    writeUnits === undefined ? "" : `${writeUnits} / ${readUnits}`,
    Object.entries(parts)
      .map(([name, part]) => `${name} ${part}`)
      .join(", "),
  ]);
  return table(["workload", "costs", "write / read units a job", "of which, in dollars"], rows);
}
