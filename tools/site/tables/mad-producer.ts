import { DEFAULT_RATE as CALLS } from "../../../infra/http-api.ts";
import { CHAIN_JOBS_A_DAY, DAY, SCHEDULES_A_DAY } from "../../../src/core/constants.ts";
import { writtenBill } from "../../bench/bill/table.ts";
import { PRICES } from "../../bench/prices.ts";
import { table } from "../markdown.ts";
import { numberText } from "../units.ts";

const SECONDS = DAY / 1000;
/** What AWS allows for a table without a raised quota ("Quotas in Amazon DynamoDB"): write units a second. */
const QUOTA_UNITS = 40_000;
/** The concurrent invocations of an account ("Lambda quotas"), and the memory of the API's function: GiB. */
const INVOCATIONS = 1000;
const API_GIBIBYTES = 1;
/** The settings of the examples. */
const MAX_WRITE = 1000;
const FILED_PER_MINUTE = 6000;
const FEWER_CALLS = 150;

type Row = readonly [producer: string, bound: string, jobs: number | undefined, dollars: number];

function lineOf(workload: string): { dollars: number; writeUnits: number } {
  const line = writtenBill().find((one) => one.workload === workload);
  if (!line) throw new Error(`the bill has no workload "${workload}"`);
  return { dollars: Number(line.dollars) / 1e6, writeUnits: Number(line.writeUnits) };
}

const single = () => lineOf("tracked jobs, one HTTP call each");

function inBatches(bound: string, units: number): Row {
  const { dollars, writeUnits } = lineOf("tracked jobs, HTTP calls of 500");
  const jobs = units / writeUnits;
  return ["files batches of 500", bound, jobs, jobs * dollars * SECONDS];
}

/** Single jobs of a topic that takes `FILED_PER_MINUTE`. Each call costs a count, and a read of its `Idempotency-Key`. */
function counted(bound: string, calls: number): Row {
  const jobs = FILED_PER_MINUTE / 60;
  const taken = single().dollars + PRICES.writeUnit + PRICES.readUnit;
  const refused = lineOf("jobs above maxFiledPerMinute, one HTTP call each").dollars;
  return ["files single jobs", bound, jobs, (jobs * taken + (calls - jobs) * refused) * SECONDS];
}

function schedules(bound: string, aDay: number): Row {
  const near = lineOf("tracked jobs, a burst filed in batches from inside AWS").dollars;
  const added = lineOf("far jobs").dollars - near;
  return ["files far jobs: what their schedules add", bound, aDay / SECONDS, aDay * added];
}

const FILES_SUCCESSOR = "is a handler that files its successor ten times a second";

/** Handlers that file over HTTP, until the guard refuses them. `calls`: how many calls are made for each job. Each costs a count. */
function chained(producer: string, calls: number): Row {
  const refused = (calls - 1) * lineOf("jobs above maxFiledPerMinute, one HTTP call each").dollars;
  const dollars = CHAIN_JOBS_A_DAY * (single().dollars + calls * PRICES.writeUnit + refused);
  const bound = `\`maxFiledPerChain\`, ${numberText(CHAIN_JOBS_A_DAY)} jobs a day by default`;
  return [producer, bound, CHAIN_JOBS_A_DAY / SECONDS, dollars];
}

/** The table of what a producer costs in a day that files jobs without a pause, from the bill. */
export function madProducer(): string {
  const calls = numberText(CALLS);
  const filed = `\`maxFiledPerMinute: ${FILED_PER_MINUTE}\``;
  const waiting = INVOCATIONS * API_GIBIBYTES * PRICES.gigabyteSecond * SECONDS;
  const rows: Row[] = [
    [
      "files single jobs",
      `\`throttlingRate\`, ${calls} calls a second by default`,
      CALLS,
      CALLS * single().dollars * SECONDS,
    ],
    inBatches(`DynamoDB's quota for a table, ${numberText(QUOTA_UNITS)} write units a second`, QUOTA_UNITS),
    inBatches(`\`maxThroughput: { write: ${MAX_WRITE} }\``, MAX_WRITE),
    [
      "makes calls that wait for the throttled table",
      `the account's ${numberText(INVOCATIONS)} concurrent invocations`,
      undefined,
      waiting,
    ],
    counted(filed, CALLS),
    counted(`${filed}, \`throttlingRate: ${FEWER_CALLS}\``, FEWER_CALLS),
    [FILES_SUCCESSOR, "nothing, with `maxFiledPerChain: false`", 10, 10 * single().dollars * SECONDS],
    chained(FILES_SUCCESSOR, 1),
    chained("is a handler that files two successors each time", 2),
    schedules(`${calls} calls a second, without a bound`, CALLS * SECONDS),
    schedules(`the bound of ${numberText(SCHEDULES_A_DAY)} schedules a day`, SCHEDULES_A_DAY),
  ];
  return table(
    ["a producer", "is bounded by", "jobs a second", "costs a day"],
    rows.map(([producer, bound, jobs, dollars]) => [
      producer,
      bound,
      jobs === undefined ? "" : numberText(Math.round(jobs)),
      `$${dollars < 10 ? dollars.toFixed(2) : numberText(Math.round(dollars))}`,
    ]),
  );
}
