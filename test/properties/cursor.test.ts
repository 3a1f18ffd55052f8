import fc from "fast-check";
import { describe, expect } from "vitest";
import { BUCKET } from "../../core/constants.ts";
import { type Cursor, cursorKey, ITEM_VERSION, sortable } from "../../core/items.ts";
import { beforeTime } from "../../core/position.ts";
import { advance, readCursor } from "../../protocol/hand-over/cursor.ts";
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
      const moved = await Promise.all(
        positions.map((position, i) => advance(ctx, read, what, position, `tick ${i}`)),
      );
      const now = await readCursor(ctx, 0);
      const winners = moved.flatMap((result, i) => (result === undefined ? [] : i));
      expect(winners).toHaveLength(1);
      const [winner = 0] = winners;
      expect(now[what]).toBe(positions[winner]);
      // The answer to a write may be lost, and the repeat of the write is refused.
      for (const [i, position] of positions.entries())
        expect((await advance(ctx, read, what, position, `tick ${i}`)) !== undefined).toBe(i === winner);
      expect(now[what === "swept" ? "audited" : "swept"]).toBe(start);
    },
  );
});
