import { expect, it } from "vitest";
import { costOf, type Findings, reportOf } from "./measure/report.ts";

const USAGE = {
  writeUnits: 2_000_000,
  readUnits: 1_000_000,
  sqsMessages: 500_000,
  invocations: 1_000_000,
  gigabyteSeconds: 30_000,
  apiCalls: 100_000,
  logBytes: 2e9,
};
const FOUND: Findings = {
  where: "aws, eu-central-1",
  date: "2026-11-24T10:00:00.000Z",
  suite: "passed",
  lateness: [{ kind: "handed over by the tick", p50: 12, p99: 240, most: 310, jobs: 200, missing: 0 }],
  measured: { ...USAGE, writeUnits: 610, readUnits: 50, sqsMessages: 400, invocations: 60 },
  whole: USAGE,
  denials: [],
  alarms: { quiet: 20, unknown: 3, ringing: [] },
  hours: 0.5,
  secrets: 1,
  notMeasured: undefined,
};

it("the cost of each service is its usage times its prices", () => {
  const cost = costOf(USAGE, { hours: 730, alarms: 10, secrets: 2 });
  expect(
    Object.fromEntries(Object.entries(cost).map(([name, dollars]) => [name, dollars.toFixed(3)])),
  ).toEqual({
    DynamoDB: "1.375",
    SQS: "0.200",
    Lambda: "0.600",
    "HTTP API": "0.100",
    logs: "1.000",
    "alarms and secrets": "1.800",
  });
});

it("the report is one Markdown table, with the usage of one job and the total cost", () => {
  const report = reportOf(FOUND);
  expect(report.split("\n").every((line) => /^\|[^|]*\|[^|]*\|$/.test(line))).toBe(true);
  expect(report).toContain(
    "| late by, p50 / p99 / max: handed over by the tick | 12 / 240 / 310 ms (200 jobs) |",
  );
  expect(report).toContain(
    "3.05 write units, 0.25 read units, 2.00 SQS sends, receives and deletes, 0.30 invocations",
  );
  expect(report).toContain("| denials in the logs | none |");
  expect(report).toContain("| alarms | 0 ring, 20 quiet, 3 without data |");
  expect(report).toContain("| cost of this run | $3.2");
});

it("the report says what went wrong, what was not measured, and why", () => {
  const report = reportOf({
    ...FOUND,
    lateness: [{ kind: "filed shortly before due", p50: 1, p99: 2, most: 3, jobs: 198, missing: 2 }],
    measured: undefined,
    whole: undefined,
    denials: ["User: x is not authorized to perform: sqs:SendMessage | on y", "another"],
    alarms: { quiet: 0, unknown: 0, ringing: ["TickErrors"] },
    notMeasured: "it counts nothing",
  });
  expect(report).toContain("(198 jobs, 2 NOT DONE)");
  expect(report).toContain(
    "| denials in the logs | 2: User: x is not authorized to perform: sqs:SendMessage / on y |",
  );
  expect(report).toContain("| alarms | 1 ring (TickErrors), 0 quiet, 0 without data |");
  expect(report.match(/not measured: it counts nothing/g)).toHaveLength(2);
});
