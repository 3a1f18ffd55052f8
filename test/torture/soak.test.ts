import { describe, expect, it } from "vitest";
import { growthOf, type Sample } from "../../tools/torture/soak.ts";

describe("the soak", () => {
  const samples = (of: (i: number) => Sample) =>
    Array.from({ length: 100 }, (_, i) => new Map([["runner", of(i)]]));

  it("accepts values that go up and down, or that grow only at first", () => {
    const { growing } = growthOf(
      samples((i) => ({ mib: Math.min(i, 40) * 10 + (i % 2) * 60, files: 30 + (i % 10) })),
    );
    expect(growing).toEqual([]);
  });

  it("reports memory that keeps growing", () => {
    const { growing, roles } = growthOf(samples((i) => ({ mib: 100 + 2 * i, files: 30 })));
    expect(growing).toEqual(["runner"]);
    expect(roles[0]).toMatchObject({ from: { mib: 199 }, grows: true });
  });

  it("reports a number of open files that keeps growing", () => {
    expect(growthOf(samples((i) => ({ mib: 100, files: 30 + i }))).growing).toEqual(["runner"]);
  });
});
