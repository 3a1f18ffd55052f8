import { describe, expect, test } from "vitest";
import { itemAt, numbers } from "./contract-items.ts";
import { NOW, type PoolBench } from "./pool-contract.ts";

export function countContract(bench: PoolBench): void {
  counts(bench);
  countsNothing(bench);
}

function counts({ pool, by, partition }: PoolBench): void {
  /** Seconds since the epoch, as TTL has them. */
  const EXPIRES = NOW / 1000;
  describe("counting", () => {
    test("begins at 0, and answers the new value of each counter", async () => {
      const key = { pk: partition(), sk: "starts" };
      expect(await pool().count(key, { s0: 2, s59: 1 }, EXPIRES, by())).toEqual({ s0: 2, s59: 1 });
      expect(await pool().count(key, { s0: 3, s7: 1 }, EXPIRES + 1, by())).toEqual({ s0: 5, s7: 1 });
      expect(await pool().read([key])).toEqual([
        { ...key, v: 1, s0: 5, s7: 1, s59: 1, expiresAt: EXPIRES + 1 },
      ]);
    });

    test("leaves the other attributes of an item", async () => {
      const item = itemAt({ pk: partition(), sk: "starts" }, { body: "1", s0: 1 });
      await pool().insert([item], by());
      expect(await pool().count(item, { s0: 1 }, EXPIRES, by())).toEqual({ s0: 2 });
      expect(await pool().read([item])).toEqual([{ ...item, s0: 2, expiresAt: EXPIRES }]);
    });

    test("counts every minute's sixty seconds at once", async () => {
      const key = { pk: partition(), sk: "starts" };
      const amounts = Object.fromEntries(numbers(0, 60).map((n) => [`s${n}`, n + 1]));
      expect(await pool().count(key, amounts, EXPIRES, by())).toEqual(amounts);
    });

    test("if many callers count at once, each gets another answer", async () => {
      const key = { pk: partition(), sk: "starts" };
      const counted = await Promise.all(
        numbers(0, 10).map(() => pool().count(key, { s0: 1 }, EXPIRES, by())),
      );
      expect(counted.map(({ s0 }) => s0).sort((a = 0, b = 0) => a - b)).toEqual(numbers(1, 10));
    });
  });
}

function countsNothing({ pool, by, partition }: PoolBench): void {
  const EXPIRES = NOW / 1000;
  describe("counts that are refused", () => {
    test("counts nothing in an item that a newer version wrote", async () => {
      const item = { ...itemAt({ pk: partition(), sk: "starts" }, { s0: 1 }), v: 2 };
      await pool().insert([item], by());
      const counted = pool().count(item, { s0: 1 }, EXPIRES, by());
      await expect(counted).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("a newer version wrote it"),
      });
      expect(await pool().read([item])).toEqual([item]);
    });

    test("nothing is counted at the deadline", async () => {
      const key = { pk: partition(), sk: "starts" };
      const late = pool().count(key, { s0: 1 }, EXPIRES, NOW);
      await expect(late).rejects.toMatchObject({ code: "unavailable" });
      expect(await pool().read([key])).toEqual([undefined]);
    });
  });
}
