import { expect, test } from "vitest";
import {
  FIELDS,
  type FieldName,
  planOf,
  queryOf,
  type Values,
  valuesFrom,
} from "../../../tools/site/calculator/fields.ts";

const INITIAL = valuesFrom("");
const planWith = (values: Partial<Values>) => {
  const read = planOf({ ...INITIAL, ...values });
  return "plan" in read ? read.plan : read.problems;
};

test("the initial values are a plan", () => {
  expect(planWith({})).toEqual({
    ...{ jobs: 1e6, arrival: "bursts", kind: "tracked", filed: "inside", consumer: "lambda", workers: 1 },
    ...{
      bodyBytes: 0.1 * 1024,
      cancelled: 0,
      delayDays: 30 / 1440,
      longDelayDays: 7,
      retentionDays: 7,
      topics: 1,
    },
  });
});

test("units are those of the labels", () => {
  expect(planWith({ body: "1.5", cancelled: "12.5", delay: "1d12h", jobs: " 2,000 " })).toMatchObject({
    ...{ bodyBytes: 1536, cancelled: 0.125, delayDays: 1.5, jobs: 2000 },
  });
});

const WRONG: readonly [FieldName, string][] = [
  ...(["", "-1", "1.5", "1e6", "many", "1000000000001"] as const).map((text): [FieldName, string] => [
    "jobs",
    text,
  ]),
  ...(["", "30", "1.5h", "3661d", "soon"] as const).map((text): [FieldName, string] => ["delay", text]),
  ["arrival", "sometimes"],
  ["body", "200.5"],
  ["cancelled", "101"],
  ["workers", "0"],
  ["retention", "0"],
  ["topics", "101"],
];

test.each(WRONG)("%s: %j is refused with the rule and the value", (name, text) => {
  const { label, rule } = FIELDS[name];
  expect(planWith({ [name]: text })).toEqual({ [name]: `${label} must be ${rule}, got "${text}".` });
});

test("an address keeps what differs from the initial values, and nothing else", () => {
  expect(queryOf(INITIAL)).toBe("");
  const values = { ...INITIAL, kind: "keyed", delay: "9d" };
  expect(queryOf(values)).toBe("?delay=9d&kind=keyed");
  expect(valuesFrom(`${queryOf(values)}&unknown=1`)).toEqual(values);
});
