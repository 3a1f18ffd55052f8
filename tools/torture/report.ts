import { percentile } from "../bench/statistics.ts";
import type { Verdict } from "./judge.ts";
import type { LedgerEvent } from "./ledger.ts";
import { VIOLATIONS } from "./promises.ts";
import { historyOf } from "./story.ts";

const MOST_SHOWN = 10;

export type Row = readonly [what: string, count: number | string];

/** The rows of the table of jobs. `underFaults`: how many jobs were acknowledged within the planned minutes. */
export function rowsOf(verdict: Verdict, underFaults: number): Row[] {
  const { changes, untracked, lateness, violations, ranAgain } = verdict;
  const late = (share: number) => `${(percentile(lateness, share) / 1000).toFixed(2)} s`;
  return [
    ["jobs acknowledged", verdict.acknowledged],
    ["of these within the planned minutes", underFaults],
    ["cancelled before they ran", verdict.cancelled],
    ["run to their end", verdict.completed],
    ["recorded dead", verdict.dead],
    ["changes acknowledged / refused", `${changes.applied} / ${changes.refused}`],
    ["handlers started", verdict.starts],
    ["runs that failed on purpose", verdict.failed],
    ...Object.entries(ranAgain).map(([cause, count]): Row => [`run again, lease over: ${cause}`, count]),
    [
      "untracked: acknowledged / run again / lost",
      `${untracked.acknowledged} / ${untracked.ranAgain} / ${untracked.lost}`,
    ],
    ["late by, median / 99 % / most", `${late(0.5)} / ${late(0.99)} / ${late(1)}`],
    ...VIOLATIONS.map((kind): Row => [kind, violations.filter((one) => one.kind === kind).length]),
  ];
}

export function faultRows(events: readonly LedgerEvent[]): Row[] {
  const counts = new Map<string, number>();
  for (const event of events)
    if (event.event === "fault") counts.set(event.fault, (counts.get(event.fault) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

export function table(title: string, rows: readonly Row[]): string {
  const width = Math.max(title.length, ...rows.map(([what]) => what.length));
  const lines = rows.map(([what, count]) => `| ${what.padEnd(width)} | ${String(count).padStart(6)} |`);
  return [`| ${title.padEnd(width)} |        |`, `| ${"-".repeat(width)} | -----: |`, ...lines].join("\n");
}

export function describeViolations({ violations }: Verdict, events: readonly LedgerEvent[]): string {
  const shown = violations.slice(0, MOST_SHOWN).map(({ kind, n, why }) => {
    const history = historyOf(events, n).map((event) => `    ${JSON.stringify(event)}`);
    return [`${kind}: job ${n}: ${why}`, ...history].join("\n");
  });
  const more = violations.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}
