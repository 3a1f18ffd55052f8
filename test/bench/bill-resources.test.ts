import { expect, test } from "vitest";
import { type Deployed, defaultResources, deployedQueue } from "../../tools/bench/bill/deployed.ts";
import { CHARGES, KNOWN_PROPERTIES } from "../../tools/bench/bill/resources.ts";
import { costOf, NOTHING } from "../../tools/bench/bill/usage.ts";

const resources = defaultResources();
const deployed: Deployed = deployedQueue();

test("the bill counts each type of resource that a default queue creates, or says that it is free", () => {
  const types = new Set(resources.map(([, { Type }]) => Type));
  expect([...types].filter((type) => CHARGES[type] === undefined)).toEqual([]);
  expect(Object.keys(CHARGES).filter((type) => !types.has(type))).toEqual([]);
});

test("each line of the bill comes from a resource, except metrics, which functions make", () => {
  const lines = Object.values(CHARGES).flatMap((charge) => ("lines" in charge ? charge.lines : []));
  const without = Object.keys(costOf(NOTHING)).filter((line) => !(lines as string[]).includes(line));
  expect(without).toEqual(["metrics"]);
});

test("no resource has a property for which AWS may charge and that the bill does not know", () => {
  const unknown = resources.flatMap(([id, { Type, Properties }]) =>
    Object.keys(Properties)
      .filter((name) => KNOWN_PROPERTIES[Type]?.includes(name) === false)
      .map((name) => `${id} ${name}`),
  );
  expect(unknown).toEqual([]);
});

test("the table uses the key that AWS owns, which costs nothing, and no function is traced", () => {
  const text = JSON.stringify(resources);
  expect(text).toContain('"SSESpecification":{"SSEEnabled":false}');
  expect(text).not.toMatch(/TracingConfig|AWS::KMS|AWS::SecretsManager/);
});

test("the bill takes from the template how often Lambda polls, what the access log has and which functions log each invocation", () => {
  const isLimited = JSON.stringify(resources).includes('"MaximumConcurrency"');
  expect(deployed.pollers).toBe(isLimited ? 5 : 2);
  expect(deployed.accessLogBytes).toBeGreaterThan(80);
  expect(deployed.accessLogBytes).toBeLessThan(160);
  expect((["api", "receive", "tick"] as const).map(deployed.logsInvocations)).toEqual([false, true, true]);
});
