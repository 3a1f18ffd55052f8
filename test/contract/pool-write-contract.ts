import { describe, expect, test } from "vitest";
import type { Item } from "../../src/core/items.ts";
import { BEGINNING, END } from "../../src/core/position.ts";
import type { Attribute } from "../../src/protocol/ports.ts";
import { itemAt, numbers } from "./contract-items.ts";
import { NOW, type PoolBench } from "./pool-contract.ts";

const EXOTIC: Record<string, string> = {
  emoji: "snow \u{1f3d4} and 👩‍🚀",
  "the last characters of the plane": "\ufffe\uffff",
  quotes: `'single' "double" \`back\` \\ ? : # --`,
  "a lone surrogate as a JSON escape": '{"a":"\\ud800"}',
  "control characters": "\u0000\u0001\n\r\t",
  "no text": "",
  "right to left": "שלום עולם",
};

export function poolWriteContract(bench: PoolBench): void {
  readsItems(bench);
  keepsContent(bench);
  keepsAttributes(bench);
  insertsAndRemoves(bench);
  changesItems(bench);
  checksExpectations(bench);
  keepsDeadlines(bench);
}

function readsItems({ pool, createdBetween, by, partition }: PoolBench): void {
  describe("reading", () => {
    test("tells when the table was created, the same each time", async () => {
      const createdAt = await pool().createdAt();
      expect(createdAt).toBeGreaterThanOrEqual(createdBetween()[0]);
      expect(createdAt).toBeLessThanOrEqual(createdBetween()[1]);
      expect(await pool().createdAt()).toBe(createdAt);
    });

    test("reads keys in their order, with gaps, repeated keys and more than one request's worth", async () => {
      const pk = partition();
      const items = numbers(0, 130).map((n) => itemAt({ pk, sk: `${n}` }, { revision: n }));
      await pool().insert(items, by());
      const keys = [{ pk, sk: "none" }, ...items.map(({ sk }) => ({ pk, sk })), { pk, sk: "5" }];
      expect(await pool().read(keys)).toEqual([undefined, ...items, items[5]]);
      expect(await pool().read([{ pk, sk: "none" }])).toEqual([undefined]);
      expect(
        await pool().read([
          { pk, sk: "7" },
          { pk, sk: "7" },
        ]),
      ).toEqual([items[7], items[7]]);
      expect(await pool().read([])).toEqual([]);
    });

    test("an object that a caller gave or got does not share data with the pool", async () => {
      const key = { pk: partition(), sk: "a" };
      const trail = [{ position: "a", reachedAt: 1 }];
      await pool().insert([itemAt(key, { trail })], by());
      trail.push({ position: "b", reachedAt: 2 });
      const [read] = (await pool().read([key])) as unknown as [{ trail: object[] }];
      read.trail.pop();
      expect(await pool().read([key])).toEqual([itemAt(key, { trail: trail.slice(0, 1) })]);
    });
  });
}

function keepsContent({ pool, by, partition }: PoolBench): void {
  describe("the content of items", () => {
    test("an item is read as it was inserted", async () => {
      const item = itemAt(
        { pk: partition(), sk: "a" },
        {
          body: "{}",
          dueAt: NOW,
          leaseEnd: 0,
          expiresAfter: -1,
          untracked: true,
          headers: { traceparent: "00-1", empty: "" },
          trail: [
            { position: "a", reachedAt: NOW },
            { position: "b", reachedAt: NOW + 1 },
          ],
        },
      );
      expect(await pool().insert([item], by())).toEqual(["inserted"]);
      expect(await pool().read([item])).toEqual([item]);
    });

    test.each(Object.entries(EXOTIC))("keeps %s, inserted alone, in a batch and changed", async (_, text) => {
      const pk = partition();
      const [alone, first, second] = ["a", "b", "c"].map((sk) => itemAt({ pk, sk }, { body: text }));
      if (!alone || !first || !second) throw new Error("three items were made");
      await pool().insert([alone], by());
      await pool().insert([first, second], by());
      expect(await pool().read([alone, first, second])).toEqual([alone, first, second]);

      const change = { key: { pk, sk: "a" }, expect: { body: text }, set: { lastError: text } };
      const changed = { ...alone, lastError: text };
      expect(await pool().change(change, by())).toEqual({ changed: true, item: changed });
      const many = { key: { pk, sk: "b" }, expect: { body: text }, set: { lastError: text } };
      expect(await pool().changeMany([many], by())).toEqual(["changed"]);
    });
  });
}

function keepsAttributes({ pool, by, partition }: PoolBench): void {
  describe("attributes", () => {
    test.each([0, -1, 1.5, 1_772_357_400_123, Number.MAX_SAFE_INTEGER])(
      "keeps the number %d, and a change that expects its text is refused",
      async (number) => {
        const item = itemAt({ pk: partition(), sk: "a" }, { dueAt: number });
        const key = { pk: item.pk, sk: item.sk };
        await pool().insert([item], by());
        expect(await pool().read([key])).toEqual([item]);
        const asText = { key, expect: { dueAt: String(number) }, set: { revision: 1 } };
        expect(await pool().change(asText, by())).toEqual({ changed: false, item });
        expect(await pool().changeMany([asText], by())).toEqual(["refused"]);
        const asNumber = { key, expect: { dueAt: number }, set: { revision: 1 } };
        expect(await pool().change(asNumber, by())).toEqual({
          changed: true,
          item: { ...item, revision: 1 },
        });
      },
    );

    test("an undefined attribute is not stored", async () => {
      const key = { pk: partition(), sk: "a" };
      await pool().insert([{ ...itemAt(key), token: undefined } as never], by());
      const [item] = await pool().read([key]);
      expect(Object.keys(item ?? {}).sort()).toEqual(["id", "pk", "sk", "v"]);
    });
  });
}

function insertsAndRemoves({ pool, by, partition }: PoolBench): void {
  describe("inserting and removing", () => {
    test("an item that is there is not inserted again", async () => {
      const item = itemAt({ pk: partition(), sk: "a" }, { body: "first" });
      await pool().insert([item], by());
      expect(await pool().insert([{ ...item, body: "second" } as never], by())).toEqual(["exists"]);
      expect(await pool().read([item])).toEqual([item]);
    });

    test("removes items that are there and items that are not", async () => {
      const pk = partition();
      const keys = numbers(0, 30).map((n) => ({ pk, sk: `${n}` }));
      await pool().insert(
        keys.slice(0, 29).map((key) => itemAt(key)),
        by(),
      );
      await pool().remove(keys, by());
      await pool().remove(keys.slice(0, 1), by());
      await pool().remove([], by());
      expect((await pool().page(pk, BEGINNING, END, 100)).items).toEqual([]);
    });
  });
}

function changesItems({ pool, by, partition }: PoolBench): void {
  describe("changing", () => {
    test("a change sets and removes attributes and answers with the whole item", async () => {
      const key = { pk: partition(), sk: "a" };
      await pool().insert([itemAt(key, { state: "scheduled", token: "t", expiresAt: 5 })], by());
      const set: Record<string, Attribute> = { state: "done", headers: { a: "1" }, trail: [{ n: 1 }] };
      const change = { key, expect: { state: "scheduled" }, set, remove: ["token", "expiresAt", "none"] };
      const item = itemAt(key, set);
      expect(await pool().change(change, by())).toEqual({ changed: true, item });
      expect(await pool().read([key])).toEqual([item]);
    });

    test("a change may remove attributes and set none, and need not expect anything", async () => {
      const key = { pk: partition(), sk: "a" };
      await pool().insert([itemAt(key, { token: "t" })], by());
      const change = { key, expect: {}, set: {}, remove: ["token"] };
      expect(await pool().change(change, by())).toEqual({ changed: true, item: itemAt(key) });
    });

    test("an item of another layout is left as it is, whatever its change expects", async () => {
      const key = { pk: partition(), sk: "a" };
      const item = { ...itemAt(key, { state: "scheduled" }), v: 2 } as Item;
      await pool().insert([item], by());
      const change = { key, expect: { state: "scheduled" }, set: { state: "done" } };
      expect(await pool().change(change, by())).toEqual({ changed: false, item });
      expect(await pool().change({ ...change, expect: {} }, by())).toEqual({ changed: false, item });
      expect(await pool().changeMany([change], by())).toEqual(["refused"]);
      const refused = { done: false, refused: [item] };
      expect(await pool().transact([{ change }], by())).toEqual(refused);
      expect(await pool().transact([{ check: { key, expect: {} } }], by())).toEqual(refused);
      expect(await pool().read([key])).toEqual([item]);
    });
  });
}

function checksExpectations({ pool, by, partition }: PoolBench): void {
  describe("what a change expects", () => {
    test("a change that expects another value changes nothing, and answers the stored item", async () => {
      const key = { pk: partition(), sk: "a" };
      const item = itemAt(key, { revision: 3 });
      await pool().insert([item], by());
      const refused = { changed: false, item };
      const set = { token: "t" };
      expect(await pool().change({ key, expect: { revision: 2 }, set }, by())).toEqual(refused);
      expect(await pool().change({ key, expect: { revision: undefined }, set }, by())).toEqual(refused);
      expect(await pool().change({ key, expect: { token: "t" }, set }, by())).toEqual(refused);
      expect(await pool().change({ key, expect: { revision: 3, token: "x" }, set }, by())).toEqual(refused);
      expect(await pool().read([key])).toEqual([item]);
    });

    test("a change may expect that an attribute is absent, and is refused once the attribute is there", async () => {
      const key = { pk: partition(), sk: "a" };
      await pool().insert([itemAt(key, { revision: 3 })], by());
      const change = { key, expect: { revision: 3, token: undefined }, set: { token: "t" } };
      expect((await pool().change(change, by())).changed).toBe(true);
      expect((await pool().change(change, by())).changed).toBe(false);
    });

    test.each([{}, { token: undefined }, { revision: 1 }])(
      "a change that expects %o never creates an item",
      async (expected) => {
        const key = { pk: partition(), sk: "a" };
        const change = { key, expect: expected, set: { token: "t" } };
        expect(await pool().change(change, by())).toEqual({ changed: false, item: undefined });
        expect(await pool().read([key])).toEqual([undefined]);
      },
    );
  });
}

function keepsDeadlines({ pool, partition }: PoolBench): void {
  describe("deadlines", () => {
    test("a write is issued before its deadline, but not at its deadline", async () => {
      const key = { pk: partition(), sk: "a" };
      const unavailable = expect.objectContaining({ code: "unavailable" });
      expect(await pool().insert([itemAt(key)], NOW)).toEqual([unavailable]);
      expect(await pool().read([key])).toEqual([undefined]);
      expect(await pool().insert([itemAt(key)], NOW + 1)).toEqual(["inserted"]);
      const change = { key, expect: {}, set: { token: "t" } };
      await expect(pool().change(change, NOW)).rejects.toEqual(unavailable);
      await expect(pool().remove([key], NOW)).rejects.toEqual(unavailable);
      await expect(pool().transact([{ change }], NOW)).rejects.toEqual(unavailable);
      expect(await pool().read([key])).toEqual([itemAt(key)]);
    });
  });
}
