import { type Line, writtenBill } from "../../bench/bill/table.ts";
import { table } from "../markdown.ts";

const IDLE = "an idle queue of one topic";
const PULLED = "an idle queue with one worker that pulls over HTTP";
const JOBS: readonly (readonly [title: string, workload: string])[] = [
  ["filed one by one over HTTP", "tracked jobs, one HTTP call each"],
  ["filed in HTTP calls of 500", "tracked jobs, HTTP calls of 500"],
  ["each with a `key`, filed one by one over HTTP", "keyed jobs, one HTTP call each"],
  ['filed one by one over HTTP, with `tracking: "none"`', "untracked jobs, one HTTP call each"],
];

/** What a queue costs in a month, idle and with a million jobs, from the bill. */
export function price(): string {
  const idle = dollarsOf(IDLE);
  const rows = JOBS.map(
    ([title, workload]) => [`1 million jobs, ${title}`, idle + dollarsOf(workload)] as const,
  );
  const further = dollarsOf("an idle queue of two topics") - idle;
  const all = [["no job", idle] as const, ["no job, for each further topic", further] as const];
  const pulled = ["no job, one worker that pulls over HTTP", dollarsOf(PULLED)] as const;
  return table(
    ["jobs in a month", "costs a month"],
    [...all, pulled, ...rows].map(([title, dollars]) => [title, `$${dollars.toFixed(2)}`]),
  );
}

function dollarsOf(workload: string): number {
  const line: Line | undefined = writtenBill().find((one) => one.workload === workload);
  if (!line) throw new Error(`the bill has no workload "${workload}"`);
  return Number(line.dollars);
}
