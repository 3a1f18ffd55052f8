import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Bill, type Billed, costOf } from "./usage.ts";

const MILLION = 1e6;

/** The bill of one workload: what a million of its jobs cost, or a month, in dollars. Units are for each job. */
export type Line = {
  readonly workload: string;
  readonly per: "million jobs" | "month";
  readonly writeUnits?: string;
  readonly readUnits?: string;
  readonly dollars: string;
  /** Each part that costs half a cent or more, the largest first. */
  readonly parts: Readonly<Record<string, string>>;
};

export function lineOf({ workload, per, usage }: Billed): Line {
  const times = per === "job" ? MILLION : 1;
  const costs = Object.entries(costOf(usage)).map(([name, dollars]): [string, number] => [
    name,
    dollars * times,
  ]);
  const sum = costs.reduce((total, [, dollars]) => total + dollars, 0);
  const parts = costs
    .filter(([, dollars]) => dollars >= 0.005)
    .sort(([, one], [, other]) => other - one)
    .map(([name, dollars]) => [name, dollars.toFixed(2)]);
  return {
    workload,
    per: per === "job" ? "million jobs" : "month",
    ...(per === "job" && {
      writeUnits: usage.writeUnits.toFixed(2),
      readUnits: usage.readUnits.toFixed(2),
    }),
    dollars: sum.toFixed(2),
    parts: Object.fromEntries(parts),
  };
}

/** The bill as it was last written, for the documentation and its calculator. */
export const BILL = join(import.meta.dirname, "bill.json");

export function writtenBill(): Line[] {
  const { billed } = JSON.parse(readFileSync(BILL, "utf8")) as Bill;
  return billed.map(lineOf);
}
