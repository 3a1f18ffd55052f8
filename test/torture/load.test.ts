import { describe, expect, it } from "vitest";
import { planLoad } from "../../tools/torture/load.ts";
import { seededRandom } from "../../tools/torture/random.ts";

const FIVE_MINUTES = 300_000;

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

  it("has every kind of job: near and swept, single and batched, keyed, failing, of each topic, with each change", () => {
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
