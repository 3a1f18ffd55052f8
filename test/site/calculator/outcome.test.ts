import { expect, test } from "vitest";
import { planOf, valuesFrom } from "../../../tools/site/calculator/fields.ts";
import { outcomeOf } from "../../../tools/site/calculator/outcome.ts";

function outcomeFor(query: string) {
  const read = planOf(valuesFrom(query));
  if ("problems" in read) throw new Error(JSON.stringify(read.problems));
  return outcomeOf(read.plan);
}
const amount = (dollars: string): number => Number(dollars.replaceAll(/[$,]/g, ""));

test("the lines add up to the total, the largest first", () => {
  const { dollars, lines } = outcomeFor(
    "?jobs=5000000&kind=keyed&filed=http&cancelled=50&delay=9d&consumer=pull",
  );
  const shown = lines.map((line) => amount(line.dollars));
  // Each of the fourteen lines may be rounded by half a cent, and lines under half a cent are not shown.
  expect(Math.abs(shown.reduce((sum, line) => sum + line, 0) - amount(dollars))).toBeLessThan(0.08);
  expect(shown).toEqual(shown.toSorted((a, b) => b - a));
  expect(lines.find(({ name }) => name === "alarms")?.amount).toBe("8 alarms of CloudWatch");
});

test("says what the queue costs without jobs, which is a part of the total", () => {
  const { idle, dollars } = outcomeFor("?jobs=1000000");
  expect(idle).toBe(outcomeFor("?jobs=0").dollars);
  expect(amount(idle)).toBeGreaterThan(0);
  expect(amount(idle)).toBeLessThan(amount(dollars));
});

test("an idle queue has no price for a million jobs", () => {
  expect(outcomeFor("?jobs=0").perMillion).toBeUndefined();
});

test("an alternative that cannot wait as long has no dollars, but says what it cannot do", () => {
  const sqs = outcomeFor("?delay=1h").alternatives.find(({ name }) => name === "SQS alone");
  expect(sqs?.dollars).toBeUndefined();
  expect(sqs?.cannot).toContain("15 minutes");
});
