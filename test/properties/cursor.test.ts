import fc from "fast-check";
import { describe, expect } from "vitest";
import { BUCKET } from "../../core/constants.ts";
import { type Cursor, cursorKey, ITEM_VERSION, sortable } from "../../core/items.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import { advance, type Reached, readCursor } from "../../protocol/hand-over/cursor.ts";
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
      const winners = moved.flatMap((result, i) => (result === undefined ? [] : i));
      expect(winners).toHaveLength(1);
      const [winner = 0] = winners;
      expect(now[what]).toBe(positions[winner]);
      // The answer to a write may be lost, and the repeat of the write is refused.
      for (const [i, position] of positions.entries())
        expect((await advance(ctx, read, reached(position), `tick ${i}`)) !== undefined).toBe(i === winner);
      expect(now[what === "swept" ? "audited" : "swept"]).toBe(start);
    },
  );

  property(
    "is moved by one of two sweeps that hand over later minutes first",
    [ahead, ahead],
    async (one, other) => {
      const { ctx, pool } = createWorld();
      const start = sortable(NOW);
      pool.put({ ...cursorKey(0), v: ITEM_VERSION, swept: start, audited: start, trail: [] } as Cursor);
      const read = await readCursor(ctx, 0);
      const moved = await Promise.all(
        [one, other].map((minutes, i) => {
          const range = { from: beforeTime(NOW + BUCKET), to: beforeTime(NOW + (1 + minutes) * BUCKET) };
          return advance(ctx, read, { swept: read.swept, ahead: [range], trail: [] }, `tick ${i}`);
        }),
      );
      expect(moved.filter((result) => result !== undefined)).toHaveLength(1);
      const winner = moved.findIndex((result) => result !== undefined);
      const now = await readCursor(ctx, 0);
      expect(now.swept).toBe(start);
      expect(now.ahead).toEqual(moved[winner]?.ahead);
    },
  );
});
