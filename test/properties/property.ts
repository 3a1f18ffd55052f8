import fc from "fast-check";
import { expect, test } from "vitest";

/** All runs have the same seed, so a build that has passed passes again. `PROPERTY_SEED` sets another seed. */
const SEED = wholeNumber("PROPERTY_SEED", 20_260_301);
/** How many values each property is tried with. `PROPERTY_RUNS` sets another number. */
const RUNS = wholeNumber("PROPERTY_RUNS", 100);

function wholeNumber(name: string, otherwise: number): number {
  const text = process.env[name];
  if (text === undefined) return otherwise;
  if (!/^\d{1,9}$/.test(text))
    throw new Error(`${name} must be a whole number of up to 9 digits, not ${text}`);
  return Number(text);
}

type Values = [unknown, ...unknown[]];

/** A failure prints the seed and the smallest values that break the rule. */
export function property<Ts extends Values>(
  rule: string,
  kinds: { [K in keyof Ts]: fc.Arbitrary<Ts[K]> },
  check: (...values: Ts) => void | Promise<void>,
): void {
  test(rule, async () => {
    expect.hasAssertions();
    const tried = fc.asyncProperty<Ts>(...kinds, async (...values) => {
      await check(...values);
    });
    await fc.assert(tried, { seed: SEED, numRuns: RUNS });
  });
}
