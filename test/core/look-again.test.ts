import { describe, expect, it } from "vitest";
import { lookAgainAt } from "../../core/look-again.ts";
import { TIME } from "./waiting-home.ts";

describe("looking again", () => {
  it("comes after the wait, hardly later, and at few times", () => {
    for (const wait of [60_000, 300_000, 3_600_000, 86_400_000]) {
      const times = Array.from({ length: 100 }, (_, i) => lookAgainAt("job-4k2x9z", TIME + i * 600, wait));
      for (const [i, time] of times.entries()) {
        expect(time - TIME - i * 600).toBeGreaterThanOrEqual(wait);
        expect(time - TIME - i * 600).toBeLessThanOrEqual(wait * 1.25 + 60_000);
      }
      expect(new Set(times).size).toBeLessThanOrEqual(2);
    }
  });

  it("is at other times for other jobs, or a sweep would stand at one instant", () => {
    const ids = Array.from(
      { length: 100 },
      (_, i) => `job-${(i * 21_000_000).toString(36).padStart(6, "0")}`,
    );
    const times = ids.map((id) => lookAgainAt(id, TIME, 86_400_000));
    expect(new Set(times).size).toBeGreaterThan(95);
  });
});
