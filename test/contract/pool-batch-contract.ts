import { describe, expect, test } from "vitest";
import { itemAt, numbers } from "./contract-items.ts";
import { NOW, type PoolBench } from "./pool-contract.ts";

export function poolBatchContract(bench: PoolBench): void {
  insertsBatches(bench);
  changesBatches(bench);
  refusesChanges(bench);
  writesNothing(bench);
}

function insertsBatches({ pool, by, partition }: PoolBench): void {
  describe("inserting a batch", () => {
    test("inserts more items than a request takes, each on its own, and answers in their order", async () => {
      const pk = partition();
      const items = numbers(0, 60).map((n) => itemAt({ pk, sk: `${n}` }, { revision: n }));
      const there = items.filter((_, n) => n % 7 === 0);
      await pool().insert(there, by());
      const expected = items.map((_, n) => (n % 7 === 0 ? "exists" : "inserted"));
      expect(await pool().insert(items, by())).toEqual(expected);
      expect(await pool().read(items)).toEqual(items);
    });

    test("inserts items of different attributes in one batch", async () => {
      const pk = partition();
      const items = [
        itemAt({ pk, sk: "a" }, { token: "t", headers: { a: "1" } }),
        itemAt({ pk, sk: "b" }, { state: "done" }),
        itemAt({ pk, sk: "c" }, { trail: [] }),
      ];
      expect(await pool().insert(items, by())).toEqual(["inserted", "inserted", "inserted"]);
      expect(await pool().read(items)).toEqual(items);
    });

    test("the second of two equal keys in a batch finds the first", async () => {
      const pk = partition();
      const first = itemAt({ pk, sk: "a" }, { body: "first" });
      const second = itemAt({ pk, sk: "a" }, { body: "second" });
      const other = itemAt({ pk, sk: "b" });
      expect(await pool().insert([first, second, other], by())).toEqual(["inserted", "exists", "inserted"]);
      expect(await pool().read([first])).toEqual([first]);
    });
  });
}

function changesBatches({ pool, by, partition }: PoolBench): void {
  describe("changing a batch", () => {
    test("changes many items, each on its own, and answers in their order", async () => {
      const pk = partition();
      const items = numbers(0, 60).map((n) => itemAt({ pk, sk: `${n}` }, { revision: n % 2 }));
      await pool().insert(items, by());
      const changes = numbers(0, 60).map((n) => ({
        key: { pk, sk: `${n}` },
        expect: { revision: 1, token: undefined },
        set: { token: `t${n}`, leaseEnd: n, state: "running" },
      }));
      const outcomes = await pool().changeMany(changes, by());
      expect(outcomes).toEqual(numbers(0, 60).map((n) => (n % 2 === 1 ? "changed" : "refused")));
      expect(await pool().read(items)).toEqual(
        items.map((item, n) => (n % 2 === 1 ? { ...item, ...changes[n]?.set } : item)),
      );
    });

    test("many changes set lists and maps", async () => {
      const key = { pk: partition(), sk: "a" };
      await pool().insert([itemAt(key)], by());
      const set = { headers: { 'a"b': "1" }, trail: [{ position: "p", reachedAt: 1 }] };
      expect(await pool().changeMany([{ key, expect: {}, set }], by())).toEqual(["changed"]);
      expect(await pool().read([key])).toEqual([itemAt(key, set)]);
    });

    test("of many simultaneous changes of one item exactly one succeeds", async () => {
      const key = { pk: partition(), sk: "a" };
      await pool().insert([itemAt(key)], by());
      const outcomes = await Promise.all(
        numbers(0, 10).map((n) => {
          const change = { key, expect: { token: undefined }, set: { token: `t${n}` } };
          return pool().changeMany([change], by());
        }),
      );
      expect(outcomes.flat().filter((outcome) => outcome === "changed")).toHaveLength(1);
    });
  });
}

function refusesChanges({ pool, by, partition }: PoolBench): void {
  describe("changes of a batch that are refused", () => {
    test("many changes never create items", async () => {
      const pk = partition();
      const set = { token: "t" };
      const changes = [
        { key: { pk, sk: "a" }, expect: {}, set },
        { key: { pk, sk: "b" }, expect: { token: undefined }, set },
        { key: { pk, sk: "c" }, expect: { revision: 1 }, set },
      ];
      expect(await pool().changeMany(changes, by())).toEqual(["refused", "refused", "refused"]);
      expect(await pool().read(changes.map(({ key }) => key))).toEqual([undefined, undefined, undefined]);
    });

    test("many changes are refused if their items are absent or have other values", async () => {
      const pk = partition();
      const keys = numbers(0, 4).map((n) => ({ pk, sk: `${n}` }));
      await pool().insert(
        keys.map((key) => itemAt(key, { state: "running", token: "old" })),
        by(),
      );
      const expectations = [{ token: undefined }, { token: "new" }, { leaseEnd: 1 }, { token: "old" }];
      const changes = keys.map((key, n) => ({ key, expect: expectations[n] ?? {}, set: { token: "mine" } }));
      const outcomes = ["refused", "refused", "refused", "changed"];
      expect(await pool().changeMany(changes, by())).toEqual(outcomes);
    });

    test("the changes of one call must have different keys, and cannot remove attributes", async () => {
      const key = { pk: partition(), sk: "a" };
      const change = { key, expect: {}, set: { token: "t" } };
      await expect(pool().changeMany([change, change], by())).rejects.toThrow(/must differ/);
      await expect(pool().changeMany([{ ...change, remove: ["id"] }], by())).rejects.toThrow(
        /cannot remove attributes/,
      );
    });
  });
}

function writesNothing({ pool, by, partition }: PoolBench): void {
  describe("batches that write nothing", () => {
    test("an empty batch does nothing", async () => {
      expect(await pool().insert([], by())).toEqual([]);
      expect(await pool().changeMany([], by())).toEqual([]);
    });

    test("at its deadline no entry of a batch is written, and the result of each says so", async () => {
      const pk = partition();
      const items = numbers(0, 30).map((n) => itemAt({ pk, sk: `${n}` }));
      const unavailable = items.map(() => expect.objectContaining({ code: "unavailable" }));
      expect(await pool().insert(items, NOW)).toEqual(unavailable);
      expect(await pool().read(items)).toEqual(items.map(() => undefined));
      const changes = items.map(({ sk }) => ({ key: { pk, sk }, expect: {}, set: { token: "t" } }));
      expect(await pool().changeMany(changes, NOW)).toEqual(unavailable);
    });
  });
}
