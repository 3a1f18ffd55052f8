import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { SIZES, type Sizes } from "../../src/core/work-sizes.ts";
import { brokenFrom } from "./broken-histories.ts";
import { drawsOf, mixOf } from "./draws.ts";
import { weatherOf } from "./faults.ts";
import { paceOf } from "./habits.ts";
import { parseCommandLine } from "./options.ts";
import { OUT_OF_REACH } from "./out-of-reach.ts";
import { pointsOf, zerosOf } from "./reached.ts";
import { seedOfTree } from "./seeds.ts";
import { simulate } from "./simulate.ts";
import { sizesOf } from "./sizes.ts";

const HISTORIES = 15;

describe("the simulator", () => {
  it(`keeps every promise in ${HISTORIES} histories`, async () => {
    expect(await brokenFrom(seedOfTree(), HISTORIES)).toEqual([]);
  });

  it.for([7, 31])("plays seed %i the same, call by call", async (seed) => {
    const [first, second] = [await simulate(seed, { traced: true }), await simulate(seed, { traced: true })];
    expect(first.runs).toBeGreaterThan(0);
    expect(second.trace).toEqual(first.trace);
  });

  it("plays different seeds differently, most of them with many faults", async () => {
    const histories = await Promise.all([13, 14, 15, 16].map((seed) => simulate(seed)));
    expect(new Set(histories.map(({ digest }) => digest)).size).toBe(4);
    expect(Math.max(...histories.map(({ faults }) => faults.size))).toBeGreaterThan(20);
  });

  it("leaves out what is suppressed, and nothing else", async () => {
    const whole = await simulate(13);
    const [first = ""] = whole.faults.keys();
    const less = await simulate(13, { suppressed: new Set([first]) });
    expect(less.faults.has(first)).toBe(false);
    const nobody = ["user", "event", "operator", "planner", "clerk", "sufferer"].flatMap((who) =>
      [...Array(14)].map((_, i) => `${who}:${i + 1}`),
    );
    const none = await simulate(13, {
      suppressed: new Set(["storm:1", "careless:1", "epilogue:1", ...nobody]),
    });
    expect(none.jobs).toBe(0);
  });

  it("has the sizes of production in some histories, and mostly small ones", () => {
    const drawn = Array.from({ length: 100 }, (_, seed) => sizesOf(seed));
    expect(drawn.filter((sizes) => sizes === SIZES).length).toBeGreaterThan(10);
    for (const name of Object.keys(SIZES) as (keyof Sizes)[]) {
      const usual = drawn.filter((sizes) => sizes[name] === SIZES[name]).length;
      expect(usual).toBeLessThan(70);
      for (const sizes of drawn) expect(sizes[name]).toBeGreaterThanOrEqual(1);
    }
  });

  it("has slow consumers only in hurt weather", () => {
    const paces = Array.from({ length: 200 }, (_, seed) => paceOf(seed, weatherOf(seed)));
    expect(paces.filter(({ pullsOne }) => pullsOne).length).toBeGreaterThan(10);
    expect(paces.filter(({ slow }) => slow !== undefined).length).toBeGreaterThan(10);
    expect(paceOf(10, "calm")).toEqual({ pullsOne: false, slow: undefined });
  });

  it("has in each history another mixture of what users do", () => {
    const verbs = ["a", "b", "c"];
    const shares = Array.from({ length: 200 }, (_, seed) => {
      const [next, draws] = [mixOf(drawsOf(seed, "mix"), verbs), drawsOf(seed, "draws")];
      const drawn = Array.from({ length: 50 }, () => next(draws));
      return verbs.map((verb) => drawn.filter((one) => one === verb).length / drawn.length);
    });
    for (const at of verbs.keys()) {
      expect(shares.some((share) => share[at] === 0)).toBe(true);
      expect(shares.some((share) => share[at] === 1)).toBe(true);
      expect(shares.some((share) => 0.1 < (share[at] ?? 0) && (share[at] ?? 0) < 0.4)).toBe(true);
    }
  });

  it("has calm seeds, seeds with one fault, and many hurt seeds", () => {
    const weathers = Array.from({ length: 100 }, (_, seed) => weatherOf(seed));
    expect(weathers.filter((weather) => weather === "calm")).toHaveLength(10);
    expect(weathers.filter((weather) => weather === "one fault")).toHaveLength(30);
  });
});

describe("the places that histories should reach", () => {
  const places = pointsOf().map(({ name }) => name);
  const reached = new Map(places.map((name) => [name, 1]));

  it("have no zero if each was reached, and one for each that was not", () => {
    expect(zerosOf(places, reached)).toEqual([]);
    const [first = "", second = ""] = reached.keys();
    expect(zerosOf([...reached.keys()], new Map([...reached, [first, 0]]))).toEqual([first]);
    expect(zerosOf([...reached.keys()], new Map([...reached].filter(([name]) => name !== second)))).toEqual([
      second,
    ]);
  });

  it("have an explained zero if a unit test reaches what no history can", () => {
    for (const [name, { test }] of Object.entries(OUT_OF_REACH)) {
      expect(places).toContain(name);
      expect(zerosOf([...reached.keys()], new Map([...reached, [name, 0]]))).toEqual([]);
      if (test) expect(readFileSync(test.file, "utf8")).toContain(test.title);
    }
  });
});

describe("the command line", () => {
  it("prints which places no history has reached, and then fails", async () => {
    const main = fileURLToPath(new URL("main.ts", import.meta.url));
    const args = [main, "--seeds", "1", "--from", "7", "--reached"];
    const { code, stdout } = (await promisify(execFile)(process.execPath, args).catch((error) => error)) as {
      code?: number;
      stdout: string;
    };
    expect(code).toBe(1);
    expect(stdout).toMatch(/ 1 {2}rule {6}send-before-cursor\n/);
    expect(stdout).toMatch(/ 0 {2}refusal {3}schedule-not-found\n/);
    expect(stdout).toMatch(/no history reached: refusal {3}schedule-not-found\n/);
  });

  it("has defaults, and takes numbers of 1 or more", () => {
    expect(parseCommandLine([])).toMatchObject({ seeds: 1000, trace: false });
    expect(parseCommandLine(["--seeds", "5", "--from", "7"])).toMatchObject({ seeds: 5, from: 7 });
  });

  it("begins at another seed each time, unless one is given", () => {
    const starts = Array.from({ length: 5 }, () => parseCommandLine([]).from);
    expect(new Set(starts).size).toBeGreaterThan(1);
    expect(parseCommandLine(["--from", String(starts[0])]).from).toBe(starts[0]);
  });

  it.for(["0", "-1", "1.5", "many", ""])("refuses %s seeds", (text) => {
    expect(() => parseCommandLine([`--seeds=${text}`])).toThrow(
      "--seeds must be a whole number of 1 or more",
    );
  });
});
