import { describe, expect, test } from "vitest";
import { BEGINNING, END } from "../../src/core/position.ts";
import type { Write } from "../../src/protocol/ports.ts";
import { itemAt, numbers } from "./contract-items.ts";
import type { PoolBench } from "./pool-contract.ts";

export function transactContract(bench: PoolBench): void {
  doesTransactions(bench);
  deletes(bench);
  refusesTransactions(bench);
}

function doesTransactions({ pool, by, partition }: PoolBench): void {
  describe("transactions that are done", () => {
    test("a transaction whose conditions hold writes all", async () => {
      const pk = partition();
      const key = { pk, sk: "changed" };
      await pool().insert([itemAt(key, { id: "old", expiresAt: 5 }), itemAt({ pk, sk: "checked" })], by());
      const writes: Write[] = [
        { insert: itemAt({ pk, sk: "new" }, { headers: { a: "1" } }) },
        {
          change: { key, expect: { id: "old", token: undefined }, set: { id: "new" }, remove: ["expiresAt"] },
        },
        { check: { key: { pk, sk: "checked" }, expect: { id: "job", token: undefined } } },
        { check: { key: { pk, sk: "none" }, expect: "absent" } },
      ];
      expect(await pool().transact(writes, by())).toEqual({ done: true });
      expect((await pool().page(pk, BEGINNING, END, 10)).items).toEqual([
        itemAt(key, { id: "new" }),
        itemAt({ pk, sk: "checked" }),
        itemAt({ pk, sk: "new" }, { headers: { a: "1" } }),
      ]);
    });

    test("of many transactions that take one key exactly one is done", async () => {
      const pk = partition();
      const results = await Promise.all(
        numbers(0, 8).map((n) =>
          pool().transact(
            [
              { insert: itemAt({ pk, sk: "key" }, { id: `${n}` }) },
              { insert: itemAt({ pk, sk: `home-${n}` }) },
            ],
            by(),
          ),
        ),
      );
      expect(results.filter(({ done }) => done)).toHaveLength(1);
      expect((await pool().page(pk, BEGINNING, END, 20)).items).toHaveLength(2);
    });
  });
}

function deletes({ pool, by, partition }: PoolBench): void {
  describe("transactions that delete", () => {
    test("a transaction deletes an item that is as expected, and else does nothing", async () => {
      const pk = partition();
      const keyOf = (sk: string) => ({ pk, sk });
      const [one, other] = [itemAt(keyOf("one"), { id: "a" }), itemAt(keyOf("other"), { id: "b" })];
      await pool().insert([one, other], by());
      const remove = (sk: string, id: string | undefined): Write => ({
        remove: { key: keyOf(sk), expect: { id, token: undefined } },
      });
      const refused = [
        [remove("one", "a"), remove("other", "a")],
        [remove("one", "a"), remove("none", "a")],
      ];
      expect(await pool().transact(refused[0] ?? [], by())).toEqual({ done: false, refused: [false, other] });
      expect(await pool().transact(refused[1] ?? [], by())).toEqual({
        done: false,
        refused: [false, undefined],
      });
      expect(await pool().transact([remove("one", "a"), remove("other", "b")], by())).toEqual({ done: true });
      expect((await pool().page(pk, BEGINNING, END, 10)).items).toEqual([]);
    });
  });
}

function refusesTransactions({ pool, by, partition }: PoolBench): void {
  describe("transactions that are refused", () => {
    test("a second transaction that is equal to the first is applied too, and finds what the first wrote", async () => {
      const item = itemAt({ pk: partition(), sk: "a" });
      expect(await pool().transact([{ insert: item }], by())).toEqual({ done: true });
      expect(await pool().transact([{ insert: item }], by())).toEqual({ done: false, refused: [item] });
    });

    test("a transaction with a refused write writes nothing, and says for each what stands there", async () => {
      const pk = partition();
      const there = numbers(0, 4).map((n) => itemAt({ pk, sk: `there-${n}` }, { revision: n }));
      await pool().insert(there, by());
      const keyOf = (sk: string) => ({ pk, sk });
      const writes: Write[] = [
        { insert: itemAt(keyOf("new")) },
        { insert: itemAt(keyOf("there-0")) },
        { change: { key: keyOf("there-1"), expect: { revision: 9 }, set: { token: "t" } } },
        { change: { key: keyOf("none-1"), expect: { token: undefined }, set: { token: "t" } } },
        { check: { key: keyOf("there-2"), expect: "absent" } },
        { check: { key: keyOf("there-3"), expect: { revision: 3 } } },
        { check: { key: keyOf("none-2"), expect: { revision: 3 } } },
        { check: { key: keyOf("none-3"), expect: {} } },
      ];
      expect(await pool().transact(writes, by())).toEqual({
        done: false,
        refused: [false, there[0], there[1], undefined, there[2], false, undefined, undefined],
      });
      expect((await pool().page(pk, BEGINNING, END, 10)).items).toEqual(there);
    });

    test("a transaction cannot name an item twice", async () => {
      const item = itemAt({ pk: partition(), sk: "a" });
      const writes: Write[] = [{ insert: item }, { check: { key: item, expect: "absent" } }];
      await expect(pool().transact(writes, by())).rejects.toThrow();
      expect(await pool().read([item])).toEqual([undefined]);
    });
  });
}
