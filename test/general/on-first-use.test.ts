import { expect, test } from "vitest";
import { onFirstUse } from "../../src/general/on-first-use.ts";

test("makes nothing before the first call, and the same for all calls, even if they come at once", async () => {
  let made = 0;
  const client = onFirstUse(async () => {
    made += 1;
    return { made };
  });
  expect(made).toBe(0);
  const [first, second] = await Promise.all([client(), client()]);
  expect(second).toBe(first);
  expect(await client()).toBe(first);
  expect(made).toBe(1);
});
