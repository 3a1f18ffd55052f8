import { describe, expect, test } from "vitest";
import { itemAt, numbers } from "./contract-items.ts";
import type { PoolBench } from "./pool-contract.ts";

const HOME = "1700000000000#01HF7YAT000000000000000000";
const LOOK = `${HOME}#look`;
const NEXT = "1700000000001#01HF7YAT000000000000000001";

export function pageContract({ pool, by, partition }: PoolBench): void {
  const fill = async (sks: readonly string[], attributes = {}): Promise<string> => {
    const pk = partition();
    await pool().insert(
      sks.map((sk) => itemAt({ pk, sk }, attributes)),
      by(),
    );
    return pk;
  };
  const sksOf = async (pk: string, after: string, before: string, limit = 100) => {
    const { items, more } = await pool().page(pk, after, before, limit);
    return { sks: items.map(({ sk }) => sk), more };
  };

  describe("pages", () => {
    test("a page is of one partition, in order, with whole items", async () => {
      const pk = await fill([NEXT, LOOK, HOME], { headers: { a: "1" } });
      await fill([HOME]);
      const items = [HOME, LOOK, NEXT].map((sk) => itemAt({ pk, sk }, { headers: { a: "1" } }));
      expect(await pool().page(pk, "", "~", 10)).toEqual({ items, more: false });
      expect(await pool().page(partition(), "", "~", 10)).toEqual({ items: [], more: false });
    });

    test("the lower bound is exclusive, and a look at the same time lies behind its home", async () => {
      const pk = await fill([HOME, LOOK, NEXT]);
      expect(await sksOf(pk, HOME, "~")).toEqual({ sks: [LOOK, NEXT], more: false });
      expect(await sksOf(pk, LOOK, "~")).toEqual({ sks: [NEXT], more: false });
      expect(await sksOf(pk, NEXT, "~")).toEqual({ sks: [], more: false });
      expect(await sksOf(pk, "1700000000000", "~")).toEqual({ sks: [HOME, LOOK, NEXT], more: false });
      expect(await sksOf(pk, "1700000000000~", "~")).toEqual({ sks: [NEXT], more: false });
    });

    test("the upper bound is exclusive", async () => {
      const pk = await fill([HOME, LOOK, NEXT]);
      expect(await sksOf(pk, "", NEXT)).toEqual({ sks: [HOME, LOOK], more: false });
      expect(await sksOf(pk, "", LOOK)).toEqual({ sks: [HOME], more: false });
      expect(await sksOf(pk, "", HOME)).toEqual({ sks: [], more: false });
      expect(await sksOf(pk, "", "1700000000001")).toEqual({ sks: [HOME, LOOK], more: false });
    });

    test("bounds that hold nothing between them are an empty page", async () => {
      const pk = await fill([HOME, LOOK, NEXT]);
      for (const [after, before] of [
        [HOME, HOME],
        [HOME, LOOK],
        [NEXT, HOME],
        ["", ""],
        [HOME, `${HOME} `],
        ["~", "a"],
      ] as const)
        expect(await sksOf(pk, after, before)).toEqual({ sks: [], more: false });
    });

    test("a page that the limit cuts says that there is more, and one that ends there does not", async () => {
      const pk = await fill([HOME, LOOK, NEXT]);
      expect(await sksOf(pk, "", "~", 1)).toEqual({ sks: [HOME], more: true });
      expect(await sksOf(pk, "", "~", 2)).toEqual({ sks: [HOME, LOOK], more: true });
      expect(await sksOf(pk, "", "~", 3)).toEqual({ sks: [HOME, LOOK, NEXT], more: false });
      expect(await sksOf(pk, "", NEXT, 2)).toEqual({ sks: [HOME, LOOK], more: false });
      expect(await sksOf(pk, "", NEXT, 1)).toEqual({ sks: [HOME], more: true });
      expect(await sksOf(pk, LOOK, "~", 1)).toEqual({ sks: [NEXT], more: false });
    });

    test("page after page every entry comes once, whatever the limit", async () => {
      const all = numbers(0, 60).map((n) => `17000000000${String(n).padStart(2, "0")}#J`);
      const pk = await fill(all);
      for (const limit of [1, 7, 30, 59, 60, 61]) {
        const seen: string[] = [];
        let calls = 0;
        for (let more = true; more; calls++) {
          const page = await sksOf(pk, seen.at(-1) ?? "", "~", limit);
          seen.push(...page.sks);
          more = page.more;
        }
        expect(seen).toEqual(all);
        expect(calls).toBe(Math.ceil(60 / limit));
      }
    });

    test("pages of items too large for one answer come to their end all the same", async () => {
      const all = numbers(10, 12).map((n) => `${n}`);
      const pk = partition();
      for (const sk of all) await pool().insert([itemAt({ pk, sk }, { body: "x".repeat(200_000) })], by());
      const seen: string[] = [];
      for (let more = true; more; ) {
        const page = await sksOf(pk, seen.at(-1) ?? "", "21");
        expect(page.sks.length > 0 || !page.more).toBe(true);
        seen.push(...page.sks);
        more = page.more;
      }
      expect(seen).toEqual(all.slice(0, -1));
    });
  });
}
