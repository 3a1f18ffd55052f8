import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
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

it("a mutant is caught, and its history is told without what it does not need", async () => {
  const hunt = fileURLToPath(new URL("mutants/hunt.ts", import.meta.url));
  const args = [hunt, "claim without the revision", "100", "0", "story", "P4"];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { promise, story } = JSON.parse(stdout) as { promise: string; story: string[] };
  expect(promise).toBe("P4");
  expect(story.at(-1)).toContain("VIOLATION");
  expect(story.length).toBeLessThan(40);
});
