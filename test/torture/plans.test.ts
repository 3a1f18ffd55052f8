import { describe, expect, it } from "vitest";
import { FAMILIES, type Family, longestFreeze, planFaults, planTicks } from "../../torture/fault-plan.ts";
import { planLoad } from "../../torture/load.ts";
import { parseCommandLine } from "../../torture/options.ts";
import { seededRandom } from "../../torture/random.ts";
import { growthOf, type Sample } from "../../torture/soak.ts";

const FIVE_MINUTES = 300_000;
const ALL = new Set(FAMILIES);

describe("the plan of faults", () => {
  it("is the same for the same seed, and another for another", () => {
    const plan = (seed: number) => planFaults(seededRandom(seed), FIVE_MINUTES, ALL);
    expect(plan(1)).toEqual(plan(1));
    expect(plan(1)).not.toEqual(plan(2));
  });

  it("has every kind of kill, freeze and network trouble, in a short run too", () => {
    const kinds = (ms: number) =>
      new Set(
        planFaults(seededRandom(3), ms, ALL).map((fault) =>
          "victim" in fault ? `${fault.fault} ${fault.victim}` : `${fault.fault} ${fault.service}`,
        ),
      );
    expect(kinds(90_000)).toEqual(kinds(FIVE_MINUTES));
    expect([...kinds(90_000)]).toEqual(
      expect.arrayContaining(["kill stack", "kill sqs", "freeze dynamodb", "cut api"]),
    );
  });

  it("lies within the time, in order, and freezes for a minute at most", () => {
    const plan = planFaults(seededRandom(4), FIVE_MINUTES, ALL);
    const times = plan.map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.every((at) => at >= 0 && at < FIVE_MINUTES)).toBe(true);
    const freezes = plan.filter(({ fault }) => fault === "freeze").map(({ ms }) => ms);
    expect(Math.max(...freezes)).toBeLessThanOrEqual(60_000);
    expect(longestFreeze(90_000)).toBe(18_000);
  });

  it("has only the families asked for", () => {
    const faults = planFaults(seededRandom(5), FIVE_MINUTES, new Set<Family>(["network"]));
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.every((fault) => "service" in fault)).toBe(true);
    expect(planFaults(seededRandom(5), FIVE_MINUTES, new Set())).toEqual([]);
  });

  it("doubles one tick of three in a row and leaves one out", () => {
    const ticks = planTicks(seededRandom(6), FIVE_MINUTES, ALL);
    for (let i = 0; i < 5; i++) {
      const times = [ticks.next(), ticks.next(), ticks.next()].map(({ value }) => value.times);
      expect(times.sort()).toEqual([0, 1, 2]);
    }
  });

  it("leaves ticks alone when not asked to hurt them", () => {
    const ticks = planTicks(seededRandom(6), FIVE_MINUTES, new Set());
    for (let i = 0; i < 5; i++) expect(ticks.next().value).toEqual({ times: 1 });
  });
});

describe("the plan of the load", () => {
  const plan = (seed: number) =>
    planLoad({ jobs: 2_000, ms: FIVE_MINUTES, producers: 4, random: seededRandom(seed) });

  it("is the same for the same seed, and another for another", () => {
    expect(plan(1)).toEqual(plan(1));
    expect(plan(1)).not.toEqual(plan(2));
  });

  it("files each job once, and changes it in order after that, by the same producer", () => {
    const versions = new Map<number, number>();
    for (const requests of plan(2)) {
      let last = 0;
      for (const request of requests) {
        expect(request.at).toBeGreaterThanOrEqual(last);
        last = request.at;
        if (request.kind !== "create") {
          expect(request.version).toBe((versions.get(request.n) ?? Number.NaN) + 1);
          versions.set(request.n, request.version);
        } else
          for (const { n } of request.jobs) {
            expect(versions.has(n)).toBe(false);
            versions.set(n, 0);
          }
      }
    }
    expect([...versions.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
  });

  it("meets every path: near and swept, single and batched, keyed, failing, each topic, each change", () => {
    const requests = plan(3).flat();
    const jobs = requests.flatMap((request) => (request.kind === "create" ? request.jobs : []));
    expect(jobs.some(({ delay }) => delay === 0)).toBe(true);
    expect(jobs.filter(({ delay }) => delay > 210_000).length).toBeGreaterThan(50);
    expect(jobs.some(({ keyed }) => keyed)).toBe(true);
    expect(jobs.some(({ fails }) => fails)).toBe(true);
    expect(new Set(jobs.map(({ topic }) => topic)).size).toBe(4);
    expect(new Set(requests.map(({ kind }) => kind))).toEqual(
      new Set(["create", "cancel", "reschedule", "replace"]),
    );
    const sizes = requests.flatMap((request) => (request.kind === "create" ? request.jobs.length : []));
    expect(Math.min(...sizes)).toBe(1);
    expect(Math.max(...sizes)).toBeGreaterThan(10);
  });
});

describe("the command line", () => {
  it("has defaults, and takes what it is told", () => {
    expect(parseCommandLine([], 17)).toMatchObject({ jobs: 10_000, minutes: 5, seed: 17, soak: false });
    expect(parseCommandLine(["--jobs", "5", "--minutes", "0.5", "--faults", "kills"], 0)).toMatchObject({
      jobs: 5,
      minutes: 0.5,
      families: new Set(["kills"]),
    });
    expect(parseCommandLine(["--soak"], 0).families).toEqual(new Set());
  });

  it.each([
    [["--jobs", "0"], '--jobs must be a number from 1 to 1000000, got "0"'],
    [["--jobs", "1.5"], '--jobs must be a whole number, got "1.5"'],
    [["--minutes", ""], '--minutes must be a number from 0.1 to 1440, got ""'],
    [["--faults", "kills,rain"], '--faults must name some of kills, freezes, network, ticks, got "rain"'],
    [["--fast"], "Unknown option '--fast'"],
  ])("refuses %j", (args, message) => {
    expect(() => parseCommandLine(args, 0)).toThrow(message);
  });
});

describe("the soak", () => {
  const samples = (of: (i: number) => Sample) =>
    Array.from({ length: 100 }, (_, i) => new Map([["runner", of(i)]]));

  it("does not mind what swings, or grows while it warms up", () => {
    const { growing } = growthOf(
      samples((i) => ({ mib: Math.min(i, 40) * 10 + (i % 2) * 60, files: 30 + (i % 10) })),
    );
    expect(growing).toEqual([]);
  });

  it("tells memory that keeps growing", () => {
    const { growing, roles } = growthOf(samples((i) => ({ mib: 100 + 2 * i, files: 30 })));
    expect(growing).toEqual(["runner"]);
    expect(roles[0]).toMatchObject({ from: { mib: 199 }, grows: true });
  });

  it("tells files that keep being opened", () => {
    expect(growthOf(samples((i) => ({ mib: 100, files: 30 + i }))).growing).toEqual(["runner"]);
  });
});
