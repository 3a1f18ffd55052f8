import { alternativesTo } from "../../bench/bill/alternatives.ts";
import { monthOf } from "../../bench/bill/calculator.ts";
import type { Plan } from "../../bench/bill/plan.ts";
import { costOf, type Usage } from "../../bench/bill/usage.ts";
import { MONTH_HOURS } from "../../bench/prices.ts";

/** What the page shows for a plan. All dollars are those of a month. */
export type Outcome = {
  readonly dollars: string;
  readonly perMillion?: string;
  /** What the same queue costs without jobs. */
  readonly idle: string;
  /** The parts of Minutehand's bill that cost half a cent or more, the largest first. */
  readonly lines: readonly { readonly name: string; readonly amount: string; readonly dollars: string }[];
  readonly alternatives: readonly {
    readonly name: string;
    /** Absent: this alternative cannot wait as long as the jobs do. */
    readonly dollars?: string;
    readonly parts: string;
    readonly counts: string;
    readonly cannot: string;
  }[];
};

const DOLLARS = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
const COUNT = new Intl.NumberFormat("en", {
  notation: "compact",
  compactDisplay: "long",
  maximumSignificantDigits: 3,
});
const HALF_A_CENT = 0.005;

/** How much the month uses of what each line charges for. */
const AMOUNTS: Readonly<Record<keyof ReturnType<typeof costOf>, (usage: Usage) => string>> = {
  writes: ({ writeUnits }) => `${COUNT.format(writeUnits)} write units of DynamoDB`,
  reads: ({ readUnits }) => `${COUNT.format(readUnits)} read units of DynamoDB`,
  storage: ({ storedGigabyteMonths }) => `${COUNT.format(storedGigabyteMonths)} GB in DynamoDB for a month`,
  backups: ({ storedGigabyteMonths }) =>
    `${COUNT.format(storedGigabyteMonths)} GB with point-in-time recovery`,
  SQS: ({ sqsRequests }) => `${COUNT.format(sqsRequests)} requests`,
  Lambda: ({ invocations, gigabyteSeconds }) =>
    `${COUNT.format(invocations)} invocations, ${COUNT.format(gigabyteSeconds)} GB-seconds`,
  "cold starts": ({ coldGigabyteSeconds }) => `${COUNT.format(coldGigabyteSeconds)} GB-seconds`,
  "access log": ({ accessLogBytes }) => `${COUNT.format(accessLogBytes / 1e9)} GB of CloudWatch Logs`,
  "data out": ({ sentBytes }) => `${COUNT.format(sentBytes / 1e9)} GB to the internet`,
  "API calls": ({ apiCalls }) => `${COUNT.format(apiCalls)} calls of the HTTP API`,
  Scheduler: ({ scheduledInvocations }) =>
    `${COUNT.format(scheduledInvocations)} starts by EventBridge Scheduler`,
  logs: ({ logBytes }) => `${COUNT.format(logBytes / 1e9)} GB of CloudWatch Logs`,
  metrics: ({ metricHours }) => `${COUNT.format(metricHours / MONTH_HOURS)} custom metrics of CloudWatch`,
  alarms: ({ alarmHours }) => `${COUNT.format(alarmHours / MONTH_HOURS)} alarms of CloudWatch`,
};

export function outcomeOf(plan: Plan): Outcome {
  const usage = monthOf(plan);
  const cost = costOf(usage);
  const dollars = totalOf(cost);
  return {
    dollars: DOLLARS.format(dollars),
    ...(plan.jobs > 0 && { perMillion: DOLLARS.format((dollars / plan.jobs) * 1e6) }),
    idle: DOLLARS.format(totalOf(costOf(monthOf({ ...plan, jobs: 0 })))),
    lines: largestFirst(cost).map(([name, part]) => ({
      name,
      amount: AMOUNTS[name](usage),
      dollars: DOLLARS.format(part),
    })),
    alternatives: alternativesTo(plan).map(({ name, lines, counts, cannot }) => ({
      ...{ name, counts, cannot },
      ...(lines && { dollars: DOLLARS.format(totalOf(lines)) }),
      parts: largestFirst(lines ?? {})
        .map(([part, price]) => `${part} ${DOLLARS.format(price)}`)
        .join(", "),
    })),
  };
}

function totalOf(lines: Readonly<Record<string, number>>): number {
  return Object.values(lines).reduce((sum, line) => sum + line, 0);
}

function largestFirst<Name extends string>(lines: Readonly<Record<Name, number>>): [Name, number][] {
  const entries = Object.entries<number>(lines) as [Name, number][];
  return entries.filter(([, dollars]) => dollars >= HALF_A_CENT).sort(([, one], [, other]) => other - one);
}
