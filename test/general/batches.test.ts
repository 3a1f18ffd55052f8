import { describe, expect, it } from "vitest";
import { anyInParallel, batchConcurrentCalls, batchesOf, inParallel } from "../../src/general/batches.ts";

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

  it("a question is not asked of further items once one item has answered yes", async () => {
    const asked: number[] = [];
    const isTwo = async (item: number): Promise<boolean> => {
      asked.push(item);
      return item === 2;
    };
    expect(await anyInParallel([1, 2, 3, 4], 1, isTwo)).toBe(true);
    expect(await anyInParallel([1, 3], 2, isTwo)).toBe(false);
    expect(asked).toEqual([1, 2, 1, 3]);
  });

  it("calls that come while work is done wait for it, and share the next work, even if the first fails", async () => {
    const first = Promise.withResolvers<readonly number[]>();
    const done: (readonly number[])[] = [];
    const call = batchConcurrentCalls(async (items: readonly number[]) => {
      done.push(items);
      return items.includes(0) ? first.promise : items.map((item) => item * 10);
    });
    const failed = call([0]);
    // The work for the first call begins in a later step, so that further calls of the same step can share it.
    await Promise.resolve();
    const shared = [call([1, 2]), call([3])];
    await Promise.resolve();
    expect(done).toEqual([[0]]);
    first.reject(new Error("refused"));
    await expect(failed).rejects.toThrow("refused");
    expect(await Promise.all(shared)).toEqual([[10, 20], [30]]);
    expect(done).toEqual([[0], [1, 2, 3]]);
  });
});
