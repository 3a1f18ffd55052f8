import { expect, test } from "vitest";
import { withOneShard } from "../../../local/template/delay-queue.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import { policyIn, policyText } from "../../../src/settings/policy-text.ts";
import { functionSpec } from "../stacks.ts";

const environment = (policy: object) => ({ A: "1", MINUTEHAND_POLICY: policyText(policy as Policy) });
const manyTopics = Object.fromEntries(
  Array.from({ length: 99 }, (_, i) => [`topic-${i}`, { maxAttempts: i }]),
);

test.each([
  ["readable", { shards: 8, topics: { work: {} }, retention: 60 }],
  ["compressed", { shards: 64, topics: manyTopics, retention: 60 }],
])("a function with a %s policy gets one shard, and keeps the rest", (_, policy) => {
  const { environment: changed } = withOneShard({ ...functionSpec("api"), environment: environment(policy) });
  expect(policyIn(changed.MINUTEHAND_POLICY ?? "")).toEqual({ ...policy, shards: 1 });
  expect(changed.A).toBe("1");
});

test("a function without a delay queue stays as it is", () => {
  expect(withOneShard(functionSpec("other"))).toEqual(functionSpec("other"));
});
