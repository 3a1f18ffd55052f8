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

it("a policy is written as JSON only if that is not longer, and is read back unchanged", () => {
  const texts = [0, 1, 2, 3, 5, 10, 60].map((count) => {
    const policy = policyOf(count);
    const json = JSON.stringify(policy);
    const text = policyText(policy);
    expect(policyIn(text)).toEqual(policy);
    expect(policyIn(json)).toEqual(policy);
    expect(text.length).toBeLessThanOrEqual(json.length);
    return { isJson: text === json, part: text.length / json.length };
  });
  expect(texts.at(0)).toEqual({ isJson: true, part: 1 });
  expect(texts.at(2)).toMatchObject({ isJson: false });
  expect(texts.at(-1)?.part).toBeLessThan(0.25);
});
