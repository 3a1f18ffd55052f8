import { describe, expect, test } from "vitest";
import type { Item, Key } from "../../src/core/items.ts";
import { itemAt, numbers } from "./contract-items.ts";
import type { PoolBench } from "./pool-contract.ts";

/** Other tests may have items in the table too. */
export function scanContract({ pool, by, partition }: PoolBench): void {
  async function scanned(limit: number, pks: readonly string[]): Promise<Item[]> {
    const found: Item[] = [];
    let after: Key | undefined;
    do {
      const page = await pool().scan(after, limit);
      expect(page.items.length).toBeLessThanOrEqual(limit);
      found.push(...page.items.filter(({ pk }) => pks.includes(pk)));
      after = page.next;
    } while (after);
    return found.sort((a, b) => (`${a.pk} ${a.sk}` < `${b.pk} ${b.sk}` ? -1 : 1));
  }

  describe("a scan", () => {
    test("finds each item of all partitions once, page by page, as a whole", async () => {
      const pks = [partition(), partition()];
      const items = pks.flatMap((pk) =>
        numbers(0, 5).map((n) => itemAt({ pk, sk: `item-${n}` }, { headers: { a: "1" } })),
      );
      await pool().insert(items, by());
      for (const limit of [1, 4, 1000]) expect(await scanned(limit, pks)).toEqual(items);
    });
  });
}
