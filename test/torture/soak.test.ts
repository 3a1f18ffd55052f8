import { describe, expect, it } from "vitest";
import { growthOf, type Sample } from "../../torture/soak.ts";

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
