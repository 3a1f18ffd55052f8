import { describe, expect, it } from "vitest";
import type { TrailEntry } from "../../src/core/items.ts";
import { beforeTime } from "../../src/core/position.ts";
import { positionReachedBy, trailAfter } from "../../src/core/trail.ts";

describe("a cursor's trail", () => {
  const at = (reachedAt: number): TrailEntry => ({
    position: beforeTime(reachedAt),
    reachedAt,
  });

  it("leaves out what comes too soon after the last entry", () => {
    expect(trailAfter([at(100)], at(119), 20)).toEqual([at(100)]);
    expect(trailAfter([at(100)], at(120), 20)).toEqual([at(100), at(120)]);
  });

  it("tells the last position reached by a time, and keeps what is needed later", () => {
    const trail = [at(100), at(200), at(300)];
    expect(positionReachedBy(trail, 99)).toEqual({ position: undefined, rest: trail });
    expect(positionReachedBy(trail, 250)).toEqual({ position: beforeTime(200), rest: [at(200), at(300)] });
  });
});
