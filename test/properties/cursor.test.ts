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
    "is moved by one of two ticks that read it, or by both to one place",
    [ahead, ahead, fc.constantFrom("swept" as const, "audited" as const)],
    async (one, other, what) => {
      const { ctx, pool } = createWorld();
      const start = sortable(NOW);
      const cursor: Cursor = { ...cursorKey(0), v: ITEM_VERSION, swept: start, audited: start, trail: [] };
      pool.put(cursor);
      const read = await readCursor(ctx, 0);
      const positions = [one, other].map((minutes) => beforeTime(NOW + minutes * BUCKET));
      const moved = await Promise.all(positions.map((position) => advance(ctx, read, what, position)));
      const now = await readCursor(ctx, 0);
      expect(positions).toContain(now[what]);
      for (const [i, result] of moved.entries())
        expect(result !== undefined).toBe(positions[i] === now[what]);
      expect(now[what === "swept" ? "audited" : "swept"]).toBe(start);
    },
  );
});
