import { expect, it } from "vitest";
import { brokenFrom } from "./broken-histories.ts";
import { seedOfTree } from "./seeds.ts";
import { simulate } from "./simulate.ts";

/** Each commit has another first seed. A failure prints the seed of its history. */
const FIRST = seedOfTree();
const HISTORIES = 400;
const PORTION = 50;

it.for(Array.from({ length: HISTORIES / PORTION }, (_, i) => FIRST + i * PORTION))(
  `the simulator keeps every promise in ${PORTION} histories from seed %i`,
  async (from) => {
    expect(await brokenFrom(from, PORTION)).toEqual([]);
  },
);

it("the simulator keeps every promise in histories of weeks", async () => {
  expect(await brokenFrom(FIRST, 2, { weeks: true })).toEqual([]);
});

it.for([17, 60])("the simulator plays seed %i the same, call by call", async (seed) => {
  const [first, second] = [await simulate(seed, { traced: true }), await simulate(seed, { traced: true })];
  expect(first.runs).toBeGreaterThan(0);
  expect(second.trace).toEqual(first.trace);
});
