import fc from "fast-check";
import { describe, expect } from "vitest";
import { BUCKET } from "../../src/core/constants.ts";
import { cursorKey, sortable } from "../../src/core/item-keys.ts";
import { type Cursor, ITEM_VERSION } from "../../src/core/items.ts";
import { beforeTime, type Position } from "../../src/core/position.ts";
import { isUndone } from "../../src/core/ranges.ts";
import { advance, type Reached, readCursor, sweepProgress } from "../../src/protocol/hand-over/cursor.ts";
import { createWorld } from "../support/world.ts";
import { NOW } from "./kinds.ts";
import { property } from "./property.ts";

describe("a cursor", () => {
  const ahead = fc.integer({ min: 1, max: 3 });

  property(
    "is moved by one of two ticks that read it, even if both have reached one place",
    [ahead, ahead, fc.constantFrom("swept" as const, "audited" as const)],
    async (one, other, what) => {
      const { ctx, pool } = createWorld();
      const start = sortable(NOW);
      const cursor: Cursor = { ...cursorKey(0), v: ITEM_VERSION, swept: start, audited: start, trail: [] };
      pool.put(cursor);
      const read = await readCursor(ctx, 0);
      const positions = [one, other].map((minutes) => beforeTime(NOW + minutes * BUCKET));
      const reached = (position: Position): Reached =>
        what === "swept" ? { swept: position, ahead: [], trail: [] } : { audited: position };
      const moved = await Promise.all(
        positions.map((position, i) => advance(ctx, read, reached(position), `tick ${i}`)),
      );
      const now = await readCursor(ctx, 0);
      const winners = moved.flatMap((cursor, i) => (cursor ? i : []));
      expect(winners).toHaveLength(1);
      const [winner = 0] = winners;
      expect(now[what]).toBe(positions[winner]);
      // The answer to a write may be lost, and the repeat of the write is refused.
      for (const [i, position] of positions.entries())
        expect((await advance(ctx, read, reached(position), `tick ${i}`)) !== undefined).toBe(i === winner);
      expect(now[what === "swept" ? "audited" : "swept"]).toBe(start);
    },
  );

  const numbers = { min: 0, max: 40 };
  const step = fc.record({
    sweep: fc.nat(3),
    from: fc.integer(numbers),
    length: fc.integer({ min: 1, max: 6 }),
  });

  property(
    "is moved by the first of several sweeps that read it, and knows each range that this one has done, and no other",
    [fc.array(step, { maxLength: 30 })],
    async (steps) => {
      const { ctx: world, pool } = createWorld();
      const ctx = { ...world, sizes: { ...world.sizes, mark: 1 } };
      const start = sortable(NOW);
      pool.put({ ...cursorKey(0), v: ITEM_VERSION, swept: start, audited: start, trail: [] } as Cursor);
      const read = await readCursor(ctx, 0);
      const sweeps = Array.from({ length: 4 }, () => sweepProgress(ctx, read));
      const first = steps[0]?.sweep;
      const done = new Set<number>();
      for (const { sweep, from, length } of steps) {
        const range = { from: beforeTime(NOW + from), to: beforeTime(NOW + from + length) };
        expect(await sweeps[sweep]?.reach(range, 1)).toBe(sweep === first);
        if (sweep === first) for (let i = 0; i < length; i++) done.add(from + i);
      }
      const now = await readCursor(ctx, 0);
      for (let number = 0; number < 50; number++) {
        const gap = { from: beforeTime(NOW + number), to: beforeTime(NOW + number + 1) };
        expect(isUndone(now, gap)).toBe(!done.has(number));
      }
    },
  );

  property(
    "keeps the ranges of a sweep while an audit moves it",
    [ahead, ahead],
    async (minutes, audited) => {
      const { ctx, pool } = createWorld();
      const start = sortable(NOW);
      pool.put({ ...cursorKey(0), v: ITEM_VERSION, swept: start, audited: start, trail: [] } as Cursor);
      const before = await readCursor(ctx, 0);
      const range = { from: beforeTime(NOW + BUCKET), to: beforeTime(NOW + (1 + minutes) * BUCKET) };
      await advance(ctx, before, { swept: before.swept, ahead: [range], trail: [] }, "a sweep");
      const position = beforeTime(NOW + audited * BUCKET);
      const moved = await advance(ctx, before, { audited: position }, "an audit");
      expect(moved).toMatchObject({ audited: position, ahead: [range] });
    },
  );
});
