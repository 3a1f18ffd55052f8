import fc from "fast-check";
import { describe, expect } from "vitest";
import { BUCKET, TRAIL_STEP } from "../../src/core/constants.ts";
import type { TrailEntry } from "../../src/core/items.ts";
import { BEGINNING, beforeTime } from "../../src/core/position.ts";
import { positionReachedBy, trailAfter } from "../../src/core/trail.ts";
import { byBytes } from "../../src/testing/stored-value.ts";
import { NOW } from "./kinds.ts";
import { property } from "./property.ts";

describe("a trail", () => {
  const advances = fc
    .array(fc.record({ after: fc.oneof(fc.nat(50), fc.nat(90_000)), past: fc.nat(5) }), {
      minLength: 1,
      maxLength: 40,
    })
    .map((steps) => {
      let reachedAt = NOW;
      let minutes = 0;
      return steps.map(({ after, past }): TrailEntry => {
        reachedAt += after;
        minutes += past;
        return { position: beforeTime(NOW + minutes * BUCKET), reachedAt };
      });
    });
  const trailOf = (entries: readonly TrailEntry[]): TrailEntry[] =>
    entries.reduce<TrailEntry[]>((trail, entry) => trailAfter(trail, entry, TRAIL_STEP), []);
  const moment = fc.integer({ min: NOW - 1000, max: NOW + 40 * 90_000 });

  property("never answers a position that was reached later", [advances, moment], (entries, at) => {
    const { position } = positionReachedBy(trailOf(entries), at);
    const reached = entries.filter(({ reachedAt }) => reachedAt <= at).map((entry) => entry.position);
    expect(position === undefined || reached.includes(position)).toBe(true);
  });

  property("is behind the latest advance by less than its step", [advances, moment], (entries, at) => {
    const { position = BEGINNING } = positionReachedBy(trailOf(entries), at);
    const latest = entries.findLast(({ reachedAt }) => reachedAt <= at)?.reachedAt ?? 0;
    const longAgo = entries.findLast(({ reachedAt }) => reachedAt <= latest - TRAIL_STEP);
    expect(byBytes(position, longAgo?.position ?? "")).toBeGreaterThanOrEqual(0);
  });

  property("keeps its entries a step apart", [advances], (entries) => {
    const trail = trailOf(entries);
    for (const [i, { reachedAt }] of trail.slice(1).entries())
      expect(reachedAt - (trail[i]?.reachedAt ?? 0)).toBeGreaterThanOrEqual(TRAIL_STEP);
    expect(trail[0]).toEqual(entries[0]);
  });

  property(
    "answers the same after the entries that are no longer needed are removed",
    [advances, moment, fc.nat(3_600_000)],
    (entries, at, later) => {
      const trail = trailOf(entries);
      const { rest } = positionReachedBy(trail, at);
      expect(positionReachedBy(rest, at + later)).toEqual(positionReachedBy(trail, at + later));
      expect(rest.length).toBeLessThanOrEqual(trail.length);
    },
  );
});
