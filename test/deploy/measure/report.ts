import { costOf as dollarsOf, NOTHING } from "../../../tools/bench/bill/usage.ts";
import { PRICES } from "../../../tools/bench/prices.ts";
import type { Lateness } from "./lateness.ts";
import type { Usage } from "./usage.ts";

export type Findings = {
  readonly where: string;
  readonly date: string;
  readonly suite: "passed" | "failed";
  readonly lateness: readonly Lateness[];
  /** What the measured jobs used. `undefined`: this place has no metrics. */
  readonly measured: Usage | undefined;
  readonly whole: Usage | undefined;
  readonly denials: readonly string[];
  readonly alarms: { quiet: number; unknown: number; ringing: readonly string[] };
  readonly hours: number;
  readonly secrets: number;
  readonly notMeasured: string | undefined;
};

export function reportOf(found: Findings): string {
  const { lateness, measured, whole, denials, alarms, notMeasured } = found;
  const jobs = lateness.reduce((sum, one) => sum + one.jobs + one.missing, 0);
  const each = (count: number): string => (count / jobs).toFixed(2);
  const rows: [string, string][] = [
    ["where, when", `${found.where}, ${found.date}`],
    ["end-to-end suite", found.suite],
    ...lateness.map(({ kind, p50, p99, most, jobs, missing }): [string, string] => [
      `late by, p50 / p99 / max: ${kind}`,
      `${p50} / ${p99} / ${most} ms (${jobs} jobs${missing > 0 ? `, ${missing} NOT DONE` : ""})`,
    ]),
    [
      "used by each job, the ticks included",
      measured === undefined
        ? `not measured: ${notMeasured}`
        : `${each(measured.writeUnits)} write units, ${each(measured.readUnits)} read units, ` +
          `${each(measured.sqsMessages)} SQS sends, receives and deletes, ${each(measured.invocations)} invocations`,
    ],
    ["denials in the logs", denials.length === 0 ? "none" : `${denials.length}: ${shown(denials[0] ?? "")}`],
    [
      "alarms",
      `${alarms.ringing.length} ring${alarms.ringing.length > 0 ? ` (${alarms.ringing.join(", ")})` : ""}, ` +
        `${alarms.quiet} quiet, ${alarms.unknown} without data`,
    ],
    ["cost of this run", whole === undefined ? `not measured: ${notMeasured}` : costText(whole, found)],
  ];
  return [["what", "found"], ["---", "---"], ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function costOf(
  usage: Usage,
  { hours, alarms, secrets }: { hours: number; alarms: number; secrets: number },
): Record<string, number> {
  const { sqsMessages: sqsRequests, ...others } = usage;
  const cost = dollarsOf({ ...NOTHING, ...others, sqsRequests, alarmHours: hours * alarms });
  return {
    DynamoDB: cost.writes + cost.reads,
    SQS: cost.SQS,
    Lambda: cost.Lambda,
    "HTTP API": cost["API calls"],
    logs: cost.logs,
    "alarms and secrets": cost.alarms + hours * secrets * PRICES.secretHour,
  };
}

function costText(usage: Usage, { hours, alarms, secrets }: Findings): string {
  const count = alarms.quiet + alarms.unknown + alarms.ringing.length;
  const parts = Object.entries(costOf(usage, { hours, alarms: count, secrets }));
  const sum = parts.reduce((total, [, dollars]) => total + dollars, 0);
  const each = parts.map(([name, dollars]) => `${name} ${dollars.toFixed(4)}`).join(", ");
  return `$${sum.toFixed(4)}, at most (${each})`;
}

function shown(line: string): string {
  return line.replaceAll("|", "/").replaceAll(/\s+/g, " ").slice(0, 200);
}
