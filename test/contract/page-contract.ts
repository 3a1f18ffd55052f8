import { describe, expect, test } from "vitest";
import { afterJob, BEGINNING, beforeTime, END, justAfter, type Position } from "../../src/core/position.ts";
import { itemAt, numbers } from "./contract-items.ts";
import type { PoolBench } from "./pool-contract.ts";

const HOME = "1700000000000#01HF7YAT000000000000000000";
const LOOK = `${HOME}#look`;
const TIME = 1_700_000_000_000;
const NEXT = "1700000000001#01HF7YAT000000000000000001";

function behind(seen: readonly string[]): Position {
  const last = seen.at(-1);
  return last === undefined ? BEGINNING : justAfter(last);
}

export function pageContract(bench: PoolBench): void {
  const pages = pagesOf(bench);
  boundsPages(pages);
  cutsPages(pages);
  pagesThrough(pages);
}

type Pages = ReturnType<typeof pagesOf>;

function pagesOf(bench: PoolBench) {
  const { pool, by, partition } = bench;
  return {
    ...bench,
    /** Answers the partition key of a new partition with these items. */
    async fill(sks: readonly string[], attributes = {}): Promise<string> {
      const pk = partition();
      const items = sks.map((sk) => itemAt({ pk, sk }, attributes));
      await pool().insert(items, by());
      return pk;
    },
    async sksOf(pk: string, from: Position, before: Position, limit = 100) {
      const { items, more } = await pool().page(pk, from, before, limit);
      return { sks: items.map(({ sk }) => sk), more };
    },
  };
}

function boundsPages({ pool, partition, fill, sksOf }: Pages): void {
  describe("the bounds of a page", () => {
    test("a page is of one partition, in order, with whole items", async () => {
      const pk = await fill([NEXT, LOOK, HOME], { headers: { a: "1" } });
      await fill([HOME]);
      const items = [HOME, LOOK, NEXT].map((sk) => itemAt({ pk, sk }, { headers: { a: "1" } }));
      expect(await pool().page(pk, BEGINNING, END, 10)).toEqual({ items, more: false });
      expect(await pool().page(partition(), BEGINNING, END, 10)).toEqual({ items: [], more: false });
    });

    test("a page begins at its position, and a look at the same time lies behind its home", async () => {
      const pk = await fill([HOME, LOOK, NEXT]);
      expect(await sksOf(pk, justAfter(HOME), END)).toEqual({ sks: [LOOK, NEXT], more: false });
      expect(await sksOf(pk, justAfter(LOOK), END)).toEqual({ sks: [NEXT], more: false });
      expect(await sksOf(pk, justAfter(NEXT), END)).toEqual({ sks: [], more: false });
      expect(await sksOf(pk, beforeTime(TIME), END)).toEqual({ sks: [HOME, LOOK, NEXT], more: false });
      expect(await sksOf(pk, afterJob(HOME), END)).toEqual({ sks: [NEXT], more: false });
    });

    test("a page ends at its bound", async () => {
      const pk = await fill([HOME, LOOK, NEXT]);
      expect(await sksOf(pk, BEGINNING, justAfter(NEXT))).toEqual({ sks: [HOME, LOOK, NEXT], more: false });
      expect(await sksOf(pk, BEGINNING, justAfter(LOOK))).toEqual({ sks: [HOME, LOOK], more: false });
      expect(await sksOf(pk, BEGINNING, justAfter(HOME))).toEqual({ sks: [HOME], more: false });
      expect(await sksOf(pk, BEGINNING, beforeTime(TIME + 1))).toEqual({ sks: [HOME, LOOK], more: false });
      expect(await sksOf(pk, BEGINNING, beforeTime(TIME))).toEqual({ sks: [], more: false });
    });
  });
}

function cutsPages({ fill, sksOf }: Pages): void {
  describe("pages that are empty or cut", () => {
    test("a page whose bounds have no items between them is empty", async () => {
      const pk = await fill([HOME, LOOK, NEXT]);
      for (const [from, before] of [
        [justAfter(HOME), justAfter(HOME)],
        [justAfter(LOOK), afterJob(LOOK)],
        [justAfter(NEXT), justAfter(HOME)],
        [BEGINNING, BEGINNING],
        [BEGINNING, beforeTime(TIME)],
        [END, BEGINNING],
      ] as const)
        expect(await sksOf(pk, from, before)).toEqual({ sks: [], more: false });
    });

    test("a page that the limit cuts says that there is more, and one that ends there does not", async () => {
      const pk = await fill([HOME, LOOK, NEXT]);
      expect(await sksOf(pk, BEGINNING, END, 1)).toEqual({ sks: [HOME], more: true });
      expect(await sksOf(pk, BEGINNING, END, 2)).toEqual({ sks: [HOME, LOOK], more: true });
      expect(await sksOf(pk, BEGINNING, END, 3)).toEqual({ sks: [HOME, LOOK, NEXT], more: false });
      expect(await sksOf(pk, BEGINNING, justAfter(LOOK), 2)).toEqual({ sks: [HOME, LOOK], more: false });
      expect(await sksOf(pk, BEGINNING, justAfter(LOOK), 1)).toEqual({ sks: [HOME], more: true });
      expect(await sksOf(pk, justAfter(LOOK), END, 1)).toEqual({ sks: [NEXT], more: false });
    });
  });
}

function pagesThrough({ pool, by, partition, fill, sksOf }: Pages): void {
  describe("page after page", () => {
    test("page after page every entry comes once, whatever the limit", async () => {
      const all = numbers(0, 60).map((n) => `17000000000${String(n).padStart(2, "0")}#J`);
      const pk = await fill(all);
      for (const limit of [1, 7, 30, 59, 60, 61]) {
        const seen: string[] = [];
        let calls = 0;
        for (let more = true; more; calls++) {
          const page = await sksOf(pk, behind(seen), END, limit);
          seen.push(...page.sks);
          more = page.more;
        }
        expect(seen).toEqual(all);
        expect(calls).toBe(Math.ceil(60 / limit));
      }
    });

    test("pages are complete even if their items are too large for one answer", async () => {
      const all = numbers(10, 12).map((n) => `${n}`);
      const pk = partition();
      for (const sk of all) await pool().insert([itemAt({ pk, sk }, { body: "x".repeat(200_000) })], by());
      const seen: string[] = [];
      for (let more = true; more; ) {
        const page = await sksOf(pk, behind(seen), justAfter("20"));
        expect(page.sks.length > 0 || !page.more).toBe(true);
        seen.push(...page.sks);
        more = page.more;
      }
      expect(seen).toEqual(all.slice(0, -1));
    });
  });
}
