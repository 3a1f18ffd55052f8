import { describe, expect, it } from "vitest";
import { batchesOf, inParallel } from "../../general/batches.ts";

describe("batches", () => {
  it("are bounded by count and by size, in order", () => {
    const limits = { count: 3, bytes: 10 };
    expect(batchesOf([4, 4, 4, 1, 1, 1, 1, 20, 1], (size) => size, limits)).toEqual([
      [4, 4],
      [4, 1, 1],
      [1, 1],
      [20],
      [1],
    ]);
    expect(batchesOf([], () => 1, limits)).toEqual([]);
  });

  it("an error is thrown only when no call is in flight any more", async () => {
    let finished = 0;
    const work = async (item: number): Promise<void> => {
      if (item === 0) throw new Error("first");
      await new Promise((resolve) => setImmediate(resolve));
      finished++;
    };
    await expect(inParallel([0, 1, 2, 3], 3, work)).rejects.toThrow("first");
    expect(finished).toBe(2);
  });
});
