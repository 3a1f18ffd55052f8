import { readFileSync } from "node:fs";
import { join } from "node:path";
import { table } from "../../site/markdown.ts";
import { ASSUMED as BILL } from "../bill/assumed.ts";
import { PRICES } from "../prices.ts";
import { WAITING_BYTES } from "./jobs.ts";
import type { CpuCosts } from "./lambda.ts";
import type { Result, Times } from "./run.ts";
import { hasCaughtUp, WORKLOADS } from "./workloads.ts";

/** One run: a workload with so many shards in one setup. */
export type Line = { readonly workload: string; readonly shards: number; readonly setup: string } & Result;
/** The runs as they were last written, for the documentation. */
export type Written = { readonly costs: CpuCosts; readonly lines: readonly Line[] };

export const WRITTEN = join(import.meta.dirname, "scale.json");

export function written(): Written {
  return JSON.parse(readFileSync(WRITTEN, "utf8")) as Written;
}

const COLUMNS: readonly (readonly [string, (line: Line) => string])[] = [
  ["shards", ({ shards }) => String(shards)],
  ["table", ({ setup }) => setup],
  ["aim", (line) => (workloadOf(line)?.isMet(line) ? "met" : "missed")],
  ["caught up after", caughtUp],
  ["handed over: p50, p99, max", ({ handedOver }) => timesOf(handedOver)],
  ["not handed over", ({ missing }) => count(missing)],
  ["start: p50, p99, max", ({ mapping }) => timesOf(mapping.late)],
  ["start with provisioned pollers", ({ pollers }) => timesOf(pollers.late)],
  ["ticks: p50, max", ({ ticks: { p50, max } }) => `${seconds(p50)}, ${seconds(max)}`],
  ["throttles", ({ throttles }) => count(throttles)],
  ["sent again", ({ again }) => count(again)],
  ["$ of ticks", ({ cost }) => cost.toFixed(2)],
  ["$ of all", ({ mapping }) => mapping.cost.toFixed(2)],
];

export function tableOf(workload: string, lines: readonly Line[]): string {
  const columns = COLUMNS.filter(([heading]) => workload === "outage" || heading !== "caught up after");
  const own = lines.filter((line) => line.workload === workload);
  return table(
    columns.map(([heading]) => heading),
    own.map((line) => columns.map(([, cellOf]) => cellOf(line))),
  );
}

function workloadOf(line: Line) {
  return WORKLOADS.find(({ name }) => name === line.workload);
}

function caughtUp(line: Line): string {
  const { caughtUpAfter, overdue } = line;
  return hasCaughtUp(line) ? seconds(caughtUpAfter) : `–, after ${count(overdue)} jobs`;
}

/** A dash: not before the end of the run. */
function timesOf({ p50, p99, max }: Times): string {
  return [p50, p99, max].map(seconds).join(", ");
}

function seconds(ms: number | null): string {
  if (ms === null) return "–";
  return `${(ms / 1000).toFixed(Math.abs(ms) < 10_000 ? 1 : 0)} s`;
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** The cost of waiting jobs, as Markdown: only their storage, because no tick reads them. */
export function pendingTable(): string {
  const rows = [1e6, 1e9].map((jobs) => {
    const gigabytes = (jobs * (WAITING_BYTES + BILL.bytesPerStoredItem)) / 1e9;
    return [count(jobs), `${gigabytes.toFixed(2)} GB`, (gigabytes * PRICES.storedGigabyteMonth).toFixed(2)];
  });
  return table(["pending jobs", "stored", "$ a month"], rows);
}
