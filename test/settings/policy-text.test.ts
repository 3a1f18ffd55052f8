import { expect, it } from "vitest";
import type { Policy } from "../../src/settings/policy.ts";
import { policyIn, policyText } from "../../src/settings/policy-text.ts";

const policyOf = (count: number): Policy => ({
  shards: 8,
  retention: 604_800,
  deadRetention: 7_776_000,
  topics: Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `topic-${i}`,
      { maxPerSecond: 10, backoff: { waits: [15, 180, 600] } },
    ]),
  ),
});

it("a short policy stays readable", () => {
  expect(policyText(policyOf(2))).toBe(JSON.stringify(policyOf(2)));
});

it("a long policy is compressed to less than a quarter, and is read back unchanged", () => {
  const policy = policyOf(60);
  const text = policyText(policy);
  expect(text.length).toBeLessThan(JSON.stringify(policy).length / 4);
  expect(policyIn(text)).toEqual(policy);
  expect(policyIn(JSON.stringify(policy))).toEqual(policy);
});
