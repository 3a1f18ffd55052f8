import { describe, expect, it } from "vitest";
import { lookAgainAt } from "../../src/core/look-again.ts";
import { TIME } from "./waiting-home.ts";

describe("the time of the next look", () => {
  it("comes after the wait, at most a quarter of the wait and a minute later, and is the same for calls shortly after each other", () => {
    for (const wait of [60_000, 300_000, 3_600_000, 86_400_000]) {
      const times = Array.from({ length: 100 }, (_, i) => lookAgainAt("job-4k2x9z", TIME + i * 600, wait));
      for (const [i, time] of times.entries()) {
        expect(time - TIME - i * 600).toBeGreaterThanOrEqual(wait);
        expect(time - TIME - i * 600).toBeLessThanOrEqual(wait * 1.25 + 60_000);
      }
      expect(new Set(times).size).toBeLessThanOrEqual(2);
    }
  });

  it("differs between jobs, because one sweep could not handle the looks of all jobs at one time", () => {
    const ids = Array.from(
      { length: 100 },
      (_, i) => `job-${(i * 21_000_000).toString(36).padStart(6, "0")}`,
    );
    const times = ids.map((id) => lookAgainAt(id, TIME, 86_400_000));
    expect(new Set(times).size).toBeGreaterThan(95);
  });
});
